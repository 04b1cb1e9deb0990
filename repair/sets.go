package repair

import "staunch/account"

// minus gives the offsets of a that b does not have.
func minus(a, b account.Set) (out account.Set) {
	j := 0
	for _, r := range a.Runs {
		from := r.From
		for j < len(b.Runs) && b.Runs[j].To <= from {
			j++
		}
		for k := j; k < len(b.Runs) && b.Runs[k].From < r.To; k++ {
			if b.Runs[k].From > from {
				out.AddRun(from, b.Runs[k].From)
			}
			from = max(from, b.Runs[k].To)
		}
		out.AddRun(from, r.To)
	}
	return out
}

// and gives the offsets that both have.
func and(a, b account.Set) account.Set { return minus(a, minus(a, b)) }

// seek is the number of offsets in a row that nobody needs above which reading goes on behind them: fewer are read and passed over.
const seek = 50_000

// stretches are what is read of a set: its runs, joined where the gap between two is small.
func stretches(s account.Set) (out []account.Run) {
	for _, r := range s.Runs {
		if n := len(out); n > 0 && r.From-out[n-1].To < seek {
			out[n-1].To = r.To
		} else {
			out = append(out, r)
		}
	}
	return out
}
