package protocol

// Beginning reports whether a log may begin with an entry of this kind: nothing that lies below the newest of them is needed. These are
// *complete* and *rewind* in a job's log and *segment* in a table's.
func Beginning(kind string) bool { return kind == "complete" || kind == "rewind" || kind == "segment" }

// Run gives the numbers of the newest unbroken run among the listed ones (ascending) that lie above last, the greatest number read before.
// gap reports that something above last is missing below it: the run may be used only if a Beginning is in it, since then what is missing
// was cleaned away, or lies there by a late placement of a fenced process.
func Run(listed []int64, last int64) (run []int64, gap bool) {
	i := len(listed)
	for i > 0 && listed[i-1] > last && (i == len(listed) || listed[i-1] == listed[i]-1) {
		i--
	}
	run = listed[i:]
	if len(run) == 0 || run[0] == last+1 {
		return run, false
	}
	if last == 0 {
		return run, i > 0 // numbers below the oldest entry are cleaned away
	}
	return run, true
}
