package account

import (
	"slices"
	"testing"
)

// TestSums: what `xxh128sum` and `sha256sum` print.
func TestSums(t *testing.T) {
	const empty, abc = "99aa06d3014798d86001c324468d497f", "06b05ab6733a618578af5f94892f3950"
	if s := SumsOf(nil); s != (Sums{XXH128: empty}) {
		t.Error(s)
	}
	if s := SumsOf([]byte("abc")); s != (Sums{XXH128: abc}) {
		t.Error(s)
	}
	both := NewSummer(true)
	for _, p := range []string{"a", "", "bc"} {
		if n, err := both.Write([]byte(p)); n != len(p) || err != nil {
			t.Error(n, err)
		}
	}
	whole := Sums{XXH128: abc, SHA256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"}
	if s := both.Sums(); s != whole {
		t.Error(s)
	}
	for _, x := range []struct {
		a, b Sums
		want string
	}{
		{whole, whole, ""}, {whole, Sums{}, ""}, {Sums{}, Sums{}, ""}, {whole, SumsOf([]byte("abc")), ""}, {whole, Sums{SHA256: whole.SHA256}, ""},
		{whole, SumsOf(nil), "XXH128"}, {whole, Sums{XXH128: abc, SHA256: "0"}, "SHA-256"}, {Sums{SHA256: "0"}, whole, "SHA-256"},
	} {
		if got := x.a.Contradicts(x.b); got != x.want || x.b.Contradicts(x.a) != x.want {
			t.Errorf("%+v against %+v: %q, not %q", x.a, x.b, got, x.want)
		}
	}
	for _, x := range []struct {
		s    Sums
		want []Sums
	}{{Sums{}, nil}, {Sums{XXH128: abc}, []Sums{{XXH128: abc}}}, {Sums{SHA256: "0"}, []Sums{{SHA256: "0"}}}, {Sums{XXH128: abc, SHA256: "0"}, []Sums{{XXH128: abc}, {SHA256: "0"}}}} {
		if got := slices.Collect(x.s.Each()); !slices.Equal(got, x.want) {
			t.Errorf("%+v: %+v", x.s, got)
		}
	}
	if (Sums{}).Recorded() || !whole.Recorded() || !(Sums{SHA256: "0"}).Recorded() {
		t.Error("Recorded")
	}
}
