package filesystem

import (
	"time"

	"staunch/connector"
	"staunch/fault"
)

var _ connector.FileSurveyor = (*sink)(nil)

// FileSurvey implements connector.FileSurveyor.
func (s *sink) FileSurvey() connector.FileSurvey {
	out := connector.FileSurvey{RollSize: s.roll.size, Rollover: s.roll.rollover, Inactivity: s.roll.inactivity, Check: s.roll.check, Parallelism: s.parallelism,
		DefaultPartition: s.layout.defaultName}
	for _, k := range s.layout.keys {
		out.Keys = append(out.Keys, k.name)
	}
	if c := s.commit; c != nil {
		out.Commit, out.ByTime, out.Delay, out.Zone, out.Pattern = true, c.byTime, c.delay, c.zone.Name(), c.pattern
		if c.format != nil {
			out.TimeFormat = c.format.String()
		}
	}
	return out
}

// PartitionTime implements connector.FileSurveyor.
func (s *sink) PartitionTime(values []*string) (time.Time, error) {
	if s.commit == nil {
		return time.Time{}, fault.Userf("table %s: no partition is ever declared complete, so that none needs a time", s.name)
	}
	at, err := s.commit.timeOf(values)
	if err != nil {
		return time.Time{}, err
	}
	return time.UnixMilli(at), nil
}
