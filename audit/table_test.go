package audit

import (
	"fmt"
	"testing"
)

func TestClean(t *testing.T) {
	for _, format := range []string{"json", "parquet"} {
		for _, every := range []int{0, 2, 1} {
			t.Run(fmt.Sprint(format, every), func(t *testing.T) {
				l := standard(t, format, every)
				for _, fast := range []bool{false, true} {
					r := l.audit(Options{Fast: fast})
					if r.Verdict != Clean || r.Count() != 0 || len(r.Jobs) != 1 {
						t.Fatal(text(r))
					}
					j := r.Jobs[0]
					if j.Certificates != 5 || j.First != 1 || j.Last != 5 || j.Files != 30 || j.Partitions != 1 || j.Counters.Renamed != 30 || !j.AccountsClose {
						t.Errorf("%+v", j)
					}
					s := j.Splits[0]
					if s.Split != "events-0" || s.From != 1000 || s.To != 1200 || s.To-s.From != s.Rows+s.Filtered+s.Null+s.Gaps || s.Files != 15 || j.Rows != s.Rows+j.Splits[1].Rows {
						t.Errorf("%+v", s)
					}
				}
			})
		}
	}
}
