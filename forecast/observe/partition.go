package observe

import (
	"maps"
	"slices"

	"staunch/connector"
	"staunch/forecast"
)

// partitions reads values and times of the partitions that the sample had rows of, by folder.
func partitions(s *forecast.Sink, x *forecast.Sample, sink connector.Sink, rows map[string]int64) {
	table, ok := sink.(connector.PartitionReader)
	v, tells := sink.(connector.FileSurveyor)
	if !ok || !tells {
		return
	}
	said := v.FileSurvey()
	for _, folder := range slices.Sorted(maps.Keys(rows)) {
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
			x.Defaults += rows[folder]
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
