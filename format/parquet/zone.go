package parquet

import "time"

// localZone turns wall clock time into instants as Flink does with utc-timezone=false (java.sql.Timestamp): a time that comes twice is the
// later one, a time that is left out is read with the offset before the gap. The last offset is remembered with the span in which it
// holds for sure.
type localZone struct {
	loc      *time.Location
	from, to int64 // wall clock seconds for which offset holds
	offset   int64 // seconds east of UTC
}

// toUTC returns the seconds to subtract from a wall clock time (seconds since 1970-01-01 00:00:00).
func (z *localZone) toUTC(wall int64) int64 {
	if wall >= z.from && wall < z.to {
		return z.offset
	}
	// The offset a day before and a day after enclose any transition near wall.
	before := offsetAt(z.loc, wall-86_400)
	after := offsetAt(z.loc, wall+86_400)
	if before == after && offsetAt(z.loc, wall-before) == before {
		z.remember(wall-before, before)
		return before
	}
	// Both readings are tried; the later instant that shows this wall clock wins, else (gap) the offset before.
	for _, offset := range [2]int64{min(before, after), max(before, after)} {
		if offsetAt(z.loc, wall-offset) == offset {
			return offset
		}
	}
	return before
}

// remember notes the span around the instant in which offset holds, less a day at either end, where wall clock times may be ambiguous.
func (z *localZone) remember(instant, offset int64) {
	const margin = 86_400
	start, end := time.Unix(instant, 0).In(z.loc).ZoneBounds()
	z.offset, z.from, z.to = offset, -1<<62, 1<<62
	if !start.IsZero() {
		z.from = start.Unix() + offset + margin
	}
	if !end.IsZero() {
		z.to = end.Unix() + offset - margin
	}
}

func offsetAt(loc *time.Location, instant int64) int64 {
	_, offset := time.Unix(instant, 0).In(loc).Zone()
	return int64(offset)
}
