package javanum

// ParseInt reads an integer of the given width (8, 16, 32, 64 bits) as Flink's CAST from a string does: spaces around, a sign, digits, and
// a fraction that is cut off ("12.9" is 12, "." is 0). Exponents are invalid.
func ParseInt(s []byte, bits int) (int64, Status) {
	for len(s) > 0 && s[0] == ' ' {
		s = s[1:]
	}
	for len(s) > 0 && s[len(s)-1] == ' ' {
		s = s[:len(s)-1]
	}
	if len(s) == 0 {
		return 0, Invalid
	}
	neg := s[0] == '-'
	if neg || s[0] == '+' {
		if s = s[1:]; len(s) == 0 {
			return 0, Invalid
		}
	}
	limit := uint64(1)<<(bits-1) - 1
	if neg {
		limit++
	}
	n, overflow := uint64(0), false
	for i, c := range s {
		if c == '.' {
			if !onlyDigits(s[i+1:]) {
				return 0, Invalid
			}
			break
		}
		d := uint64(c - '0')
		if d > 9 {
			return 0, Invalid
		}
		if overflow || n > (limit-d)/10 {
			overflow = true
			continue
		}
		n = n*10 + d
	}
	if overflow {
		return 0, Overflow
	}
	if neg {
		return -int64(n), OK
	}
	return int64(n), OK
}

func onlyDigits(s []byte) bool {
	for _, c := range s {
		if c-'0' > 9 {
			return false
		}
	}
	return true
}

// ParseBool reads a BOOLEAN as Flink's CAST from a string does: t, true, y, yes, 1 and f, false, n, no, 0 in any case, nothing around.
func ParseBool(s []byte) (value, ok bool) {
	if len(s) == 0 || len(s) > 5 {
		return false, false
	}
	var b [5]byte
	n := copy(b[:], s)
	for i := range n {
		if b[i] >= 'A' && b[i] <= 'Z' {
			b[i] += 'a' - 'A'
		}
	}
	switch string(b[:n]) {
	case "t", "true", "y", "yes", "1":
		return true, true
	case "f", "false", "n", "no", "0":
		return false, true
	}
	return false, false
}

// RoundInt64 is ROUND(integer, digits): half away from zero at a negative number of digits; the caller narrows the result.
func RoundInt64(v int64, digits int) int64 { return cutInt(v, digits, halfUp) }

// TruncateInt64 is TRUNCATE(integer, digits): toward zero at a negative number of digits.
func TruncateInt64(v int64, digits int) int64 { return cutInt(v, digits, down) }

// cutInt wraps like Java where rounding up leaves 64 bits.
func cutInt(v int64, digits int, mode rounding) int64 {
	if digits >= 0 {
		return v
	}
	if digits < -19 {
		return 0
	}
	u, neg := u256{uint64(v)}, v < 0
	if neg {
		u[0] = -u[0]
	}
	u, _ = u.scaleDown(-digits, mode, neg).scaleUp(-digits)
	if neg {
		return -int64(u[0])
	}
	return int64(u[0])
}

// IsDecimal is IS_DECIMAL(s) for text: whether Java reads it as a number.
func IsDecimal(s []byte) bool {
	_, st := ParseFloat64(s)
	return st == OK
}
