package function

import (
	"strconv"

	"staunch/function/datetime"
)

// addMonthsToDay moves a day by months; a day that the month does not have becomes its last.
func addMonthsToDay(days, months int64) int64 {
	y, m, d := datetime.CivilFromDays(days)
	total := int64(y)*12 + int64(m-1) + months
	y, m = int(datetime.FloorDiv(total, 12)), int(datetime.FloorMod(total, 12))+1
	return datetime.DaysFromCivil(y, m, min(d, datetime.DaysInMonth(y, m)))
}

// appendMonths prints a year-month interval: +1-02.
func appendMonths(dst []byte, months int64) []byte {
	sign := byte('+')
	if months < 0 {
		sign, months = '-', -months
	}
	dst = strconv.AppendInt(append(dst, sign), months/12, 10)
	return appendPadded(append(dst, '-'), months%12, 2)
}

// appendMillis prints a day-time interval: +1 02:03:04.005.
func appendMillis(dst []byte, ms int64) []byte {
	sign := byte('+')
	u := uint64(ms)
	if ms < 0 {
		sign, u = '-', -u
	}
	dst = strconv.AppendUint(append(dst, sign), u/86_400_000, 10)
	rest := int64(u % 86_400_000)
	dst = appendPadded(append(dst, ' '), rest/3_600_000, 2)
	dst = appendPadded(append(dst, ':'), rest/60_000%60, 2)
	dst = appendPadded(append(dst, ':'), rest/1000%60, 2)
	return appendPadded(append(dst, '.'), rest%1000, 3)
}

func appendPadded(dst []byte, v int64, width int) []byte {
	for ; width > 1 && v < pow10Int(width-1); width-- {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, v, 10)
}

func pow10Int(n int) int64 {
	p := int64(1)
	for range n {
		p *= 10
	}
	return p
}
