package javanum

import "github.com/apache/arrow-go/v18/arrow/decimal128"

// ParseDecimal reads a number as java.math.BigDecimal does (sign, digits with a point, exponent; nothing around) into
// DECIMAL(precision, scale), rounding half up. Overflow is a number with too many digits before the point.
func ParseDecimal(s []byte, precision, scale int) (decimal128.Num, Status) {
	return parseDecimal(s, precision, scale, false)
}

// ParseDecimalCast reads a number as CAST(string AS DECIMAL) does: blanks around are ignored, and an e without digits behind it counts as
// e0. Flink lets a number through that only rounding makes too long (99999999.995 as DECIMAL(10, 2)); here that is Overflow, too.
func ParseDecimalCast(s []byte, precision, scale int) (decimal128.Num, Status) {
	return parseDecimal(trimControl(s), precision, scale, true)
}

// mantissa collects digits: the first 38 significant ones as an integer, of the others only how many there are and the first.
type mantissa struct {
	hi, lo  uint64 // hi * 10^19 + lo, lo below 10^19
	digits  int    // significant digits taken
	dropped int
	next    byte // first digit dropped
}

func (m *mantissa) push(d byte) {
	switch {
	case m.digits == 0 && d == 0:
	case m.digits < 19:
		m.lo = m.lo*10 + uint64(d)
		m.digits++
	case m.digits < MaxPrecision:
		// The upper part takes the top digit of the lower one.
		const e18 = 1_000_000_000_000_000_000
		top := m.lo / e18
		m.hi = m.hi*10 + top
		m.lo = (m.lo-top*e18)*10 + uint64(d)
		m.digits++
	default:
		if m.dropped == 0 {
			m.next = d
		}
		m.dropped++
	}
}

func (m *mantissa) value() u256 {
	if m.hi == 0 {
		return u256{m.lo}
	}
	u, _ := u256{m.hi}.mulWord(pow10[19][0])
	return u.add(u256{m.lo})
}

func parseDecimal(s []byte, precision, scale int, lenientExponent bool) (decimal128.Num, Status) {
	i, neg := 0, false
	if len(s) > 0 && (s[0] == '+' || s[0] == '-') {
		neg = s[0] == '-'
		i++
	}
	var m mantissa
	count, from := 0, 0
	for ; i < len(s) && s[i]-'0' <= 9; i++ {
		m.push(s[i] - '0')
		count++
	}
	if i < len(s) && s[i] == '.' {
		for i++; i < len(s) && s[i]-'0' <= 9; i++ {
			m.push(s[i] - '0')
			count++
			from++
		}
	}
	if count == 0 {
		return decimal128.Num{}, Invalid
	}
	if i < len(s) {
		exp, ok := exponent(s[i:], lenientExponent)
		if !ok {
			return decimal128.Num{}, Invalid
		}
		from -= exp
	}
	from -= m.dropped
	if m.digits == 0 {
		return decimal128.Num{}, OK
	}
	u := m.value()
	if m.dropped > 0 && from == scale {
		// The 38 digits taken are the result; the first one dropped rounds.
		if m.next >= 5 {
			u = u.add(u256{1})
		}
	}
	return fit(u, neg, from, precision, scale, halfUp)
}

// exponent reads e[+-]digits up to the end of s. Exponents beyond ten digits are no numbers in Java.
func exponent(s []byte, lenient bool) (exp int, ok bool) {
	if s[0]|0x20 != 'e' {
		return 0, false
	}
	s = s[1:]
	if len(s) == 0 {
		return 0, lenient
	}
	neg := s[0] == '-'
	if neg || s[0] == '+' {
		s = s[1:]
	}
	if len(s) == 0 || len(s) > 10 {
		return 0, false
	}
	for _, c := range s {
		if c-'0' > 9 {
			return 0, false
		}
		exp = exp*10 + int(c-'0')
	}
	if exp > 1<<31-1 {
		return 0, false
	}
	if neg {
		exp = -exp
	}
	return exp, true
}
