package datetime

// textStyle is the length of a printed name.
type textStyle uint8

const (
	styleFull textStyle = iota
	styleShort
	styleNarrow
)

// Names of Java's locale "en", index 0 is the first value of the field.
var (
	monthNames = [12]string{"January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
		"November", "December"}
	dayNames     = [7]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
	quarterNames = [4]string{"1st quarter", "2nd quarter", "3rd quarter", "4th quarter"}
	quarterShort = [4]string{"Q1", "Q2", "Q3", "Q4"}
	ampmNames    = [2]string{"AM", "PM"}
	eraFull      = [2]string{"Before Christ", "Anno Domini"}
	eraShort     = [2]string{"BC", "AD"}
)

// textRange returns the smallest and largest value of a field that has names.
func textRange(f field) (lo, hi int) {
	switch f {
	case fieldMonth:
		return 1, 12
	case fieldDayOfWeek:
		return 1, 7
	case fieldQuarter:
		return 1, 4
	}
	return 0, 1
}

// textOf returns the name of a value in its field's range.
func textOf(f field, s textStyle, v int) string {
	name := ""
	switch f {
	case fieldMonth:
		name = monthNames[v-1]
	case fieldDayOfWeek:
		name = dayNames[v-1]
	case fieldQuarter:
		if s == styleFull {
			return quarterNames[v-1]
		}
		name = quarterShort[v-1]
		if s == styleNarrow {
			return name[1:]
		}
		return name
	case fieldAmPm:
		return ampmNames[v]
	case fieldEra:
		if s == styleFull {
			return eraFull[v]
		}
		name = eraShort[v]
		if s == styleShort {
			return name
		}
	}
	switch s {
	case styleShort:
		return name[:3]
	case styleNarrow:
		return name[:1]
	}
	return name
}
