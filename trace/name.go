package trace

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"staunch/account"
)

// Name is what the name of a file of the trace says: <epoch>-<from>-<to>-<rand>.jsonl.
type Name struct {
	Epoch    account.Epoch
	From, To int64
	// Rand are 96 random bits in hexadecimal, which make the name unique.
	Rand string
}

const (
	extension  = ".jsonl"
	randDigits = 24
)

// String is the file's name.
func (n Name) String() string {
	return fmt.Sprintf("%d-%d-%d-%s%s", n.Epoch, n.From, n.To, n.Rand, extension)
}

// ParseName reads a name that String wrote; every other name is none.
func ParseName(name string) (n Name, ok bool) {
	f := strings.Split(strings.TrimSuffix(name, extension), "-")
	if len(f) != 4 || len(f[3]) != randDigits || strings.Trim(f[3], hexDigits) != "" {
		return Name{}, false
	}
	var v [3]int64
	for i := range v {
		var err error
		if v[i], err = strconv.ParseInt(f[i], 10, 64); err != nil || v[i] < 0 {
			return Name{}, false
		}
	}
	n = Name{account.Epoch(v[0]), v[1], v[2], f[3]}
	return n, n.String() == name && n.From < n.To
}

// sortFiles puts files in the order of their records.
func sortFiles(list []file) {
	slices.SortStableFunc(list, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.Epoch, b.Epoch), cmp.Compare(a.From, b.From), cmp.Compare(b.To, a.To))
	})
}
