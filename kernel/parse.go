package kernel

import (
	"errors"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow/decimal128"
)

// ErrNotNumber is the failure of a text that is no number.
var ErrNotNumber = errors.New("not a number")

// maxExponent bounds the exponents that ParseDecimal takes, so that a short text cannot ask for much memory.
const maxExponent = 10_000

// ParseDecimal reads a decimal number: sign, digits with a point, exponent; blanks are not taken. It gives the number with the given
// scale by HALF_UP and whether it fits precision.
func ParseDecimal(s []byte, precision, scale int) (v decimal128.Num, fits bool, err error) {
	i, neg := 0, false
	if i < len(s) && (s[i] == '-' || s[i] == '+') {
		neg = s[i] == '-'
		i++
	}
	// The first 38 significant digits are kept in m, more of them go to math/big.
	var m u128
	sig, frac, any := 0, 0, false
	point := false
	start := i
	for ; i < len(s); i++ {
		c := s[i]
		if c == '.' && !point {
			point = true
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		any = true
		if point {
			frac++
		}
		if sig > 0 || c != '0' {
			sig++
			if sig <= 38 {
				t := mul128(m, u128{0, 10})
				m = u128{t[1], t[0]}
				lo := m.lo + uint64(c-'0')
				if lo < m.lo {
					m.hi++
				}
				m.lo = lo
			}
		}
	}
	end := i
	if !any {
		return v, false, ErrNotNumber
	}
	exp := 0
	if i < len(s) && (s[i] == 'e' || s[i] == 'E') {
		i++
		eneg := false
		if i < len(s) && (s[i] == '-' || s[i] == '+') {
			eneg = s[i] == '-'
			i++
		}
		if i == len(s) {
			return v, false, ErrNotNumber
		}
		for ; i < len(s) && s[i] >= '0' && s[i] <= '9'; i++ {
			if exp < maxExponent {
				exp = exp*10 + int(s[i]-'0')
			}
		}
		if eneg {
			exp = -exp
		}
	}
	if i != len(s) {
		return v, false, ErrNotNumber
	}
	from := frac - exp
	if sig == 0 {
		return v, true, nil
	}
	if sig > 38 {
		return parseBig(s[start:end], neg, from, precision, scale)
	}
	if from > scale {
		if from-scale > 40 {
			return v, true, nil
		}
		r, ok := u256{m.lo, m.hi}.down(from-scale, false).fit(precision)
		return signed(r, neg), ok, nil
	}
	if scale-from > 38 {
		return v, false, nil
	}
	r, ok := mul128(m, pow10[scale-from]).fit(precision)
	return signed(r, neg), ok, nil
}

func parseBig(digits []byte, neg bool, from, precision, scale int) (decimal128.Num, bool, error) {
	plain := make([]byte, 0, len(digits))
	for _, c := range digits {
		if c != '.' {
			plain = append(plain, c)
		}
	}
	q, ok := new(big.Int).SetString(string(plain), 10)
	if !ok {
		return decimal128.Num{}, false, ErrNotNumber
	}
	if scale-from > 38 {
		return decimal128.Num{}, false, nil
	}
	if from-scale > len(plain)+1 {
		return decimal128.Num{}, true, nil
	}
	v, fits := bigRescale(q, neg, from, precision, scale)
	return v, fits, nil
}
