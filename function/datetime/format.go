package datetime

import "strconv"

const digits2 = "00010203040506070809" + "10111213141516171819" + "20212223242526272829" + "30313233343536373839" +
	"40414243444546474849" + "50515253545556575859" + "60616263646566676869" + "70717273747576777879" +
	"80818283848586878889" + "90919293949596979899"

func append2(dst []byte, v int) []byte {
	return append(dst, digits2[v*2], digits2[v*2+1])
}

// appendYear prints a year with at least four digits; beyond 9999 all of them, before 0 with a sign. Flink prints the last four
// digits only, which is wrong for such years and not worth copying.
func appendYear(dst []byte, year int) []byte {
	if uint(year) <= 9999 {
		return append(dst, digits2[year/100*2], digits2[year/100*2+1], digits2[year%100*2], digits2[year%100*2+1])
	}
	if year < 0 {
		dst = append(dst, '-')
		year = -year
	}
	return appendPadded(dst, int64(year), 4)
}

// appendPadded prints v >= 0 with leading zeros to at least width digits.
func appendPadded(dst []byte, v int64, width int) []byte {
	digits := 1
	for n := v; n >= 10; n /= 10 {
		digits++
	}
	for ; digits < width; digits++ {
		dst = append(dst, '0')
	}
	return strconv.AppendInt(dst, v, 10)
}

// AppendDate prints DATE (days since 1970-01-01) as yyyy-MM-dd.
func AppendDate(dst []byte, days int32) []byte {
	y, m, d := CivilFromDays(int64(days))
	dst = append(appendYear(dst, y), '-')
	dst = append(append2(dst, m), '-')
	return append2(dst, d)
}

func appendHMS(dst []byte, secondsOfDay int) []byte {
	h, m, s := secondsOfDay/3600, secondsOfDay/60%60, secondsOfDay%60
	return append(dst, digits2[h*2], digits2[h*2+1], ':', digits2[m*2], digits2[m*2+1], ':', digits2[s*2], digits2[s*2+1])
}

// AppendTime prints TIME (milliseconds of the day) as CAST(.. AS STRING) does: HH:mm:ss, and with precision > 0 a point and up to
// precision digits, of which trailing zeros behind the first are left out.
func AppendTime(dst []byte, millis int32, precision int) []byte {
	ms := int(FloorMod(int64(millis), MillisPerDay))
	dst = appendHMS(dst, ms/1000)
	if precision <= 0 {
		return dst
	}
	dst = append(dst, '.')
	for rest := ms % 1000; precision > 0; precision-- {
		dst = append(dst, byte('0'+rest/100))
		if rest = rest % 100 * 10; rest == 0 {
			break
		}
	}
	return dst
}

// AppendTimestamp prints a timestamp as CAST(.. AS STRING) does: yyyy-MM-dd HH:mm:ss and precision digits of the fraction, more if the
// value has more that are not zero.
func AppendTimestamp(dst []byte, v, unitsPerSecond int64, precision int) []byte {
	return appendTimestamp(dst, v, unitsPerSecond, precision, ' ')
}

// Standard is the text form of timestamps in JSON and CSV (option json.timestamp-format.standard).
type Standard uint8

// The standards of TimestampFormat in Flink's formats.
const (
	SQL     Standard = iota // yyyy-MM-dd HH:mm:ss[.f]
	ISO8601                 // yyyy-MM-ddTHH:mm:ss[.f]
)

// AppendTimestampStandard prints a timestamp as Flink's JSON and CSV writers do: the fraction without trailing zeros, none if it is
// zero; ltz adds the Z of TIMESTAMP_LTZ (v is then the instant).
func AppendTimestampStandard(dst []byte, v, unitsPerSecond int64, std Standard, ltz bool) []byte {
	sep := byte(' ')
	if std == ISO8601 {
		sep = 'T'
	}
	dst = appendTimestamp(dst, v, unitsPerSecond, 0, sep)
	if ltz {
		dst = append(dst, 'Z')
	}
	return dst
}

func appendTimestamp(dst []byte, v, unitsPerSecond int64, precision int, sep byte) []byte {
	perDay := unitsPerSecond * SecondsPerDay
	days := FloorDiv(v, perDay)
	rest := v - days*perDay
	y, m, d := CivilFromDays(days)
	secs := rest / unitsPerSecond
	if uint(y) > 9999 {
		dst = appendYear(dst, y)
		dst = append(dst, '-', digits2[m*2], digits2[m*2+1], '-', digits2[d*2], digits2[d*2+1], sep)
		dst = appendHMS(dst, int(secs))
	} else {
		n := len(dst)
		dst = append(dst, "0000-00-00 00:00:00"...)
		b := dst[n : n+19]
		put2(b[0:2], uint(y)/100)
		put2(b[2:4], uint(y)%100)
		put2(b[5:7], uint(m))
		put2(b[8:10], uint(d))
		b[10] = sep
		t := uint(secs)
		put2(b[11:13], t/3600)
		put2(b[14:16], t/60%60)
		put2(b[17:19], t%60)
	}
	return appendFraction(dst, rest-secs*unitsPerSecond, unitsPerSecond, precision)
}

// put2 writes two digits. REQUIRES: len(b) is 2, v below 100.
func put2(b []byte, v uint) {
	b[0], b[1] = digits2[v*2], digits2[v*2+1]
}

// appendFraction prints a point and at least minDigits digits of units/unitsPerSecond, as many as are needed; nothing if none are.
func appendFraction(dst []byte, units, unitsPerSecond int64, minDigits int) []byte {
	width := 3
	switch unitsPerSecond {
	case 1_000_000:
		width = 6
	case 1_000_000_000:
		width = 9
	}
	if width == 3 && minDigits == 3 {
		return append(dst, '.', byte('0'+units/100), digits2[units%100*2], digits2[units%100*2+1])
	}
	for width > minDigits && units%10 == 0 {
		units /= 10
		width--
	}
	if width > 0 {
		dst = appendPadded(append(dst, '.'), units, width)
	}
	for ; width < minDigits; width++ {
		dst = append(dst, '0')
	}
	return dst
}
