package datetime

import (
	"strconv"
	"testing"
)

func TestLegacyMeasured(t *testing.T) {
	measured(t, "testdata/legacy.tsv", func(f []string, want string) (string, bool) {
		switch f[0] {
		case "simplefmt":
			p, err := CompileLegacyPattern(f[2])
			if err != nil {
				return "ERR", false
			}
			return string(p.Append(nil, atoi(f[1]), LegacyZone(f[3]))), false
		case "unixms":
			p, err := CompileLegacyPattern(f[2])
			if err != nil || p.Readable() != nil {
				t.Fatal(f, err)
			}
			v, ok := p.Parse([]byte(f[1]), LegacyZone(f[3]))
			if !ok {
				return "ERR", false
			}
			return strconv.FormatInt(v, 10), false
		case "tzid":
			return strconv.Itoa(int(LegacyZone(f[1]).raw)), false
		case "zoneid":
			if _, err := LoadZone(f[1]); err != nil {
				return "ERR", false
			}
			return want, false
		case "off", "local":
			z, err := LoadZone(f[1])
			if err != nil {
				t.Fatal(err)
			}
			if f[0] == "off" {
				return strconv.Itoa(int(z.OffsetAt(atoi(f[2])))), false
			}
			v, ok := z.LocalToInstant(atoi(f[2])*1000, 1000)
			if !ok {
				return "ERR", false
			}
			return strconv.FormatInt(v/1000, 10), false
		case "convertTz":
			got, ok := AppendConvertTZ(nil, []byte(f[1]), LegacyZone(f[2]), LegacyZone(f[3]))
			if !ok {
				return `\N`, false
			}
			return string(got), false
		}
		t.Fatalf("unknown line %v", f)
		return "", false
	})
}
