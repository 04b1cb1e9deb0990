//go:build peer

package audit

func init() { needPython = true }
