package bind_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"staunch/changelog"
	"staunch/function"
	"staunch/sql/bind"
	"staunch/sql/parse"
	"staunch/types"
)

const benchRows = 8192

// events is a batch like those of the main job: few actions, times that go on slowly and out of order by up to a minute.
func events(rows int) (changelog.Schema, *changelog.Batch) {
	s := changelog.Schema{{Name: "action", Type: types.String_}, {Name: "ts", Type: types.NewTimestamp(3)},
		{Name: "i", Type: types.New(types.Int)}, {Name: "s", Type: types.String_}}
	b := changelog.NewBatch(s)
	r := rand.New(rand.NewPCG(1, 2))
	actions := []string{"view", "click", "cart", "heartbeat", "purchase"}
	for i := range rows {
		b.Cols[0].AppendString(actions[r.IntN(len(actions))])
		b.Cols[1].AppendInt64(1_700_000_000_000 + int64(i)*7 - r.Int64N(60_000))
		b.Cols[2].AppendInt32(int32(r.IntN(1000)))
		b.Cols[3].AppendString(fmt.Sprintf("item-%d", r.IntN(100)))
	}
	b.Rows = rows
	return s, b
}

func program(t testing.TB, s changelog.Schema, texts ...string) *function.Program {
	t.Helper()
	var xs []function.Expr
	for _, text := range texts {
		e, err := parse.Expression(text)
		if err != nil {
			t.Fatal(err)
		}
		x, err := bind.Expr(e, bind.Scope{Schema: s})
		if err != nil {
			t.Fatal(err)
		}
		xs = append(xs, x)
	}
	p, err := function.Compile(xs, session)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func BenchmarkFilter(b *testing.B) {
	s, in := events(benchRows)
	p := program(b, s, "action <> 'heartbeat'")
	keep := make([]uint64, benchRows/64)
	b.ReportAllocs()
	for b.Loop() {
		if err := p.Filter(in, keep); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
}

func BenchmarkEval(b *testing.B) {
	for _, texts := range [][]string{
		{"DATE_FORMAT(ts, 'yyyy-MM-dd')", "DATE_FORMAT(ts, 'HH')"},
		{"i + 1"}, {"i * 2 > 100 AND s <> 'item-7'"}, {"CASE WHEN i > 500 THEN 'big' ELSE 'small' END"}, {"CAST(i AS STRING)"},
		{"ts - INTERVAL '5' SECOND"},
	} {
		b.Run(fmt.Sprint(texts), func(b *testing.B) {
			s, in := events(benchRows)
			p := program(b, s, texts...)
			out := make([]*changelog.Column, len(texts))
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Eval(in, out); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/benchRows, "ns/row")
		})
	}
}
