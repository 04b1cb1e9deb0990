package observe

import (
	"maps"
	"slices"

	"staunch/connector"
	"staunch/forecast"
)

// partitions reads values and times of the partitions that the sample had rows of.
func (r *run) partitions(s *forecast.Sink, x *forecast.Sample, sink connector.Sink, seen map[string]bool) {
	table, ok := sink.(connector.PartitionReader)
	v, tells := sink.(connector.FileSurveyor)
	if !ok || !tells {
		return
	}
	said := v.FileSurvey()
	byFolder := map[string]int64{}
	for _, t := range r.tasks {
		for _, b := range t.branches {
			if b.Sink == sink {
				for folder, n := range b.rows {
					byFolder[folder] += n
				}
			}
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(seen)) {
		values, ok := table.PartitionValues(folder)
		if !ok {
			continue
		}
		text := make([]string, len(values))
		null := false
		for i, p := range values {
			if p == nil {
				text[i], null = said.DefaultPartition, true
			} else {
				text[i] = *p
			}
		}
		x.Values = append(x.Values, text)
		if null {
			x.Defaults += byFolder[folder]
		}
		if said.Commit && said.ByTime {
			at, err := v.PartitionTime(values)
			switch {
			case err != nil && x.Times.Bad == "":
				x.Times.Bad = err.Error()
			case err != nil:
			case !x.Times.Known:
				x.Times.Known, x.Times.Oldest, x.Times.Newest = true, at, at
			default:
				if at.Before(x.Times.Oldest) {
					x.Times.Oldest = at
				}
				if at.After(x.Times.Newest) {
					x.Times.Newest = at
				}
			}
		}
	}
	if n := len(x.Values); n > 0 {
		x.Times.Length = forecast.Length(s.Commit, s.Keys, x.Values[n-1])
	}
}
