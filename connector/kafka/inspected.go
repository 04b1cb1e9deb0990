package kafka

import "staunch/connector"

var _ connector.Inspected = (*source)(nil)

// Inspector implements connector.Inspected.
func (s *source) Inspector() (connector.Inspector, error) { return newInspector(s.table) }

// Unread implements connector.Inspected.
func (s *source) Unread() string {
	switch {
	case s.bounded():
		return "its scan.bounded.mode is " + s.stop + ": partitions that came later are not read"
	case s.discovery == 0:
		return "its scan.topic-partition-discovery.interval is 0: partitions that came later are not read"
	}
	return ""
}

// Isolation implements connector.Inspected.
func (s *source) Isolation() string {
	if s.limits.isolation == 1 {
		return "read_committed"
	}
	return "read_uncommitted"
}
