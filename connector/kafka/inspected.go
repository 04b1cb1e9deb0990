package kafka

import "staunch/connector"

var _ connector.Inspected = (*source)(nil)

// Inspector implements connector.Inspected.
func (s *source) Inspector() (connector.Inspector, error) { return newInspector(s.table) }

// Isolation implements connector.Inspected.
func (s *source) Isolation() string {
	if s.limits.isolation == 1 {
		return "read_committed"
	}
	return "read_uncommitted"
}
