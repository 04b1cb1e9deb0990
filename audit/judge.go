package audit

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"staunch/account"
	"staunch/log"
)

// certificate is one that stands in the log.
type certificate struct {
	account.Certificate
	hash     string
	n        int64
	done     *account.Done
	accepted []account.Accept
	// lost are the files in neither place whose loss nobody accepted, losses what is told of each.
	lost   []account.File
	losses []Loss
}

// judge checks one job's log, entry by entry.
type judge struct {
	rep *Job

	claim *account.Claim
	// claimTorn: entries that cannot be read, claims perhaps, stand behind the newest claim.
	claimTorn bool
	// chain is the newest certificate; "" before the first. torn: entries that cannot be read stand between it and here.
	chain  account.ChainEnd
	logID  string
	plan   string
	torn   bool
	newest *certificate // of the chain's end, until its files were judged or the next one comes
	splits map[key]*Split
	// next is the offset at which the next account of a key begins; again has the keys whose next one may begin before that, since the job went
	// back and kept what is newer, or anywhere, since it began anew.
	next  map[key]int64
	again map[key]anew
	// past is what the log says of rewinds up to here, read before anything is judged.
	past *rewinds
	// line is the chain, the newest last. rewinding is the supersede that is not carried out.
	line      []account.ChainEnd
	rewinding string
	// others are the folders of other jobs' logs whose offsets may overlap.
	others map[string]bool
	// parts has the partitions: true if committed, false if only promised.
	parts map[string]bool
	// named has the final place of each file ever named.
	named names
	files *files
	// holes: entries that cannot be read stand somewhere before here.
	holes bool
	// backed are amended files that a rewind took back; unfinished: not all of those rewinds are carried out.
	backed     map[string]bool
	unfinished bool
	// left are the files that amends take out, as entries before here name them, replaced the checksums of their replacements; by the final path in the log.
	left     map[string]account.File
	replaced map[string][]account.Sums
	// doubts are what speaks against files that amends added, fresh those which the removed files were not under other names, with the number of the
	// amend; counted are the added files that are there.
	doubts  map[string]Problem
	fresh   map[string]int64
	counted map[string]bool
	// older: a version without certificates wrote to the table before, or between.
	older bool
	// promise is what the job's own log says of the table, nil if it was not read.
	promise *promise
	err     error
}

// visit judges one entry. The first error of a store ends the audit and is kept.
func (j *judge) visit(it item) {
	if j.err != nil {
		return
	}
	if it.entry == nil {
		j.holes = true
		p := Problem{Kind: it.kind, What: it.what, Path: it.path, Entry: it.n,
			ToDo: "bring the file back from a copy of the table's folder; never delete or edit entries by hand"}
		if it.kind == EntryUnknown {
			p.ToDo = newerAdvice
		}
		j.rep.problem(p)
		if it.kind != ArchiveDamaged || it.whole {
			j.torn, j.claimTorn = true, true
		}
		return
	}
	j.rep.Entries++
	if err := j.judge(it.entry); err != nil {
		j.err = err
	}
}

// at reports a problem of an entry.
func (j *judge) at(e *log.Entry, kind Kind, todo, format string, args ...any) {
	j.rep.problem(Problem{Kind: kind, What: fmt.Sprintf(format, args...), Entry: e.N, ToDo: todo})
}

// found reports a problem of a certificate.
func (j *judge) found(c *certificate, p Problem) {
	p.Entry, p.Checkpoint = c.n, c.Checkpoint
	j.rep.problem(p)
}

const newerAdvice = "audit the table with the version that wrote it"

const doctored = "the log was changed by hand or by another program: compare it with a copy"

func (j *judge) judge(e *log.Entry) error {
	read := func(v any) bool {
		err := json.Unmarshal(e.Body, v)
		if err != nil {
			j.at(e, EntryDamaged, doctored, "its content is no %s: %v", e.Kind, err)
		}
		return err == nil
	}
	switch e.Kind {
	case account.KindClaim:
		var c account.Claim
		if read(&c) {
			j.claims(e, &c)
		}
	case account.KindCertificate:
		c := &certificate{hash: e.SHA256, n: e.N}
		if read(&c.Certificate) {
			j.summed(e, c.Files, len(c.FromDirectories) > 0)
			return j.certificate(e, c)
		}
		j.torn = true
	case account.KindDone:
		var d account.Done
		if read(&d) {
			return j.done(e, &d)
		}
	case account.KindPartition:
		var p account.Partition
		if read(&p) && j.names(e, p.Certificate, p.Checkpoint) {
			for _, name := range p.Partitions { // the success file of a superseded one stays, but nobody counts on it
				j.parts[name] = j.parts[name] || !j.past.superseded(p.Certificate)
			}
		}
	case account.KindAccept:
		var a account.Accept
		if read(&a) && j.names(e, a.Certificate, a.Checkpoint) && j.newest != nil {
			j.newest.accepted = append(j.newest.accepted, a)
		}
	case account.KindSegment:
		var g account.Segment
		if read(&g) {
			j.segment(e, &g)
		}
	case account.KindKeep:
		var k account.Keep
		if read(&k) {
			j.keep(e, &k)
		} else {
			j.torn = true
		}
	case account.KindSupersede:
		var x account.Supersede
		if read(&x) {
			j.supersede(e, &x)
		} else {
			j.torn = true
		}
	case account.KindRewound:
		var r account.Rewound
		if read(&r) {
			j.rewound(e, &r)
		} else {
			j.torn = true
		}
	case account.KindRepair:
		var r account.Repair
		if read(&r) {
			j.summed(e, []account.File{{Final: r.Final, Sums: r.Sums}}, false)
			j.repair(e, &r)
		}
	case account.KindAmend:
		var a account.Amend
		if read(&a) {
			j.summed(e, a.Added, false)
			j.amend(e, &a)
		}
	default:
		j.at(e, EntryUnknown, newerAdvice, "an entry of the unknown kind %q", e.Kind)
	}
	return nil
}

// summed reports an entry that names a file by no checksum: perhaps by one of a later version, and its length proves little. Files from folders have nothing
// but a length.
func (j *judge) summed(e *log.Entry, files []account.File, folders bool) {
	for i := range files {
		if f := &files[i]; !f.Recorded() && !(folders && f.Rows == 0 && len(f.Offsets) == 0) {
			j.at(e, EntryDamaged, newerAdvice+"; if it was this one: "+doctored, "it names %s without a checksum that this version knows", f.Final)
			return
		}
	}
}

func (j *judge) claims(e *log.Entry, c *account.Claim) {
	// The same process claims again when it does not know what became of its first claim.
	again := func(old *account.Claim) bool { return c.Epoch == old.Epoch && c.Host == old.Host && c.PID == old.PID }
	if old := j.claim; old != nil && old.LogID == c.LogID && c.Epoch <= old.Epoch && !again(old) {
		j.at(e, Order, doctored, "epoch %d claims the table behind epoch %d of the same job log", c.Epoch, old.Epoch)
	}
	j.claim, j.claimTorn = c, false
}

// segment holds the summary of former entries against what was read of them, or goes on from it where they cannot be read.
func (j *judge) segment(e *log.Entry, g *account.Segment) {
	switch {
	case j.torn:
		j.chain, j.logID = g.Chain, g.ChainLogID
	case g.Chain != j.chain:
		j.at(e, ChainBroken, doctored, "the segment says that the chain ends with checkpoint %d (%s), but the newest certificate is of checkpoint %d (%s)",
			g.Chain.Checkpoint, account.Short(g.Chain.Certificate), j.chain.Checkpoint, account.Short(j.chain.Certificate))
	}
	if j.claimTorn {
		j.claim, j.claimTorn = &g.Claim, false
	}
}

// owned checks that the claim in force allows an entry of this job log and epoch (P7).
func (j *judge) owned(e *log.Entry, logID string, may bool) {
	if may || j.claimTorn {
		return
	}
	if j.claim == nil {
		j.at(e, Fence, doctored, "a %s without any claim before it", e.Kind)
		return
	}
	j.at(e, Fence, "two processes wrote to the table at once: compare its rows of this checkpoint with the topic",
		"a %s of job log %s, although the table was claimed by job log %s, epoch %d (host %s, pid %d)", e.Kind, account.Short(logID), account.Short(j.claim.LogID), j.claim.Epoch,
		j.claim.Host, j.claim.PID)
}

// certificate checks what a certificate says by itself and against those before it.
func (j *judge) certificate(e *log.Entry, c *certificate) error {
	if old := j.newest; old != nil && !j.torn {
		j.at(e, Order, doctored, "the certificate of checkpoint %d comes before checkpoint %d is done", c.Checkpoint, old.Checkpoint)
	}
	if err := j.settle(); err != nil {
		return err
	}
	if c.Previous != j.chain.Certificate && !j.torn {
		j.at(e, ChainBroken, doctored, "the certificate of checkpoint %d follows certificate %s, but the one before it is %s", c.Checkpoint, account.Short(c.Previous),
			account.Short(j.chain.Certificate))
	}
	// Its epoch is that of the attempt whose checkpoint it certifies; a later attempt may have written it.
	j.owned(e, c.LogID, j.claim != nil && j.claim.LogID == c.LogID && c.Epoch <= j.claim.Epoch)
	if j.chain.Certificate != "" && j.logID == c.LogID && c.Checkpoint <= j.chain.Checkpoint {
		j.at(e, Order, doctored, "the certificate of checkpoint %d follows that of checkpoint %d", c.Checkpoint, j.chain.Checkpoint)
	}
	if j.rewinding != "" && !j.torn {
		j.at(e, Order, doctored, "the certificate of checkpoint %d comes before the rewind before it is carried out", c.Checkpoint)
	}
	if j.promise != nil {
		j.promise.sees(c)
	}
	j.line = append(j.line, account.ChainEnd{Certificate: c.hash, Checkpoint: c.Checkpoint})
	for i := range c.Files {
		if f := &c.Files[i]; j.past.mended.Removed[f.Final] > 0 {
			j.left[f.Final] = *f
		}
	}
	if j.past.superseded(c.hash) {
		return j.takenBack(c)
	}
	j.ranges(c)
	j.sets(c)
	j.rep.Certificates++
	if j.rep.Certificates == 1 {
		j.rep.First = c.Checkpoint
		j.rep.AccountsClose = true
	}
	j.rep.Last, j.rep.Chain = c.Checkpoint, c.hash
	j.rep.AccountsClose = j.rep.AccountsClose && (c.AccountsClose || len(c.FromDirectories) > 0)
	j.ends(c)
	j.plan = c.Plan
	j.newest = c
	for _, p := range c.Partitions {
		j.parts[p] = j.parts[p]
	}
	for i := range c.Files {
		j.place(c, &c.Files[i])
	}
	return nil
}

// place checks where a file is to be and remembers it.
func (j *judge) place(c *certificate, f *account.File) {
	final, ok := j.files.inside(f, f.Final)
	if !ok {
		j.found(c, Problem{Kind: FileOutside, What: "the certificate names a file outside the table", Path: f.Final, Offsets: offsetsOf(f.Offsets), ToDo: doctored})
		return
	}
	if !j.named.add(final) {
		j.found(c, Problem{Kind: Order, What: "a file is named twice by certificates", Path: final, Offsets: offsetsOf(f.Offsets), ToDo: doctored})
	}
}

// names reports whether an entry speaks of the newest certificate, as it must.
func (j *judge) names(e *log.Entry, hash string, id account.CheckpointID) bool {
	if hash == j.chain.Certificate && hash != "" {
		return true
	}
	if !j.torn {
		j.at(e, ChainBroken, doctored, "a %s of checkpoint %d names certificate %s, but the newest is %s of checkpoint %d", e.Kind, id, account.Short(hash),
			account.Short(j.chain.Certificate), j.chain.Checkpoint)
	}
	return false
}

// done checks a done entry and then every file of its certificate.
func (j *judge) done(e *log.Entry, d *account.Done) error {
	if !j.names(e, d.Certificate, d.Checkpoint) {
		return nil
	}
	j.owned(e, d.LogID, j.claim != nil && j.claim.LogID == d.LogID && j.claim.Epoch == d.Epoch)
	c := j.newest
	if c == nil {
		return nil // said twice
	}
	if len(d.Verdicts) != len(c.Files) {
		j.found(c, Problem{Kind: VerdictsWrong, What: fmt.Sprintf("entry %d has %d verdicts for the %d files of its certificate", e.N, len(d.Verdicts), len(c.Files)), ToDo: doctored})
	}
	var n account.Counters
	for _, v := range d.Verdicts {
		n.Created++
		switch v {
		case account.Renamed:
			n.Renamed++
		case account.Skipped:
			n.Skipped++
		case account.Lost:
			n.Lost++
		default:
			j.found(c, Problem{Kind: VerdictsWrong, What: fmt.Sprintf("entry %d has the unknown verdict %q", e.N, v), ToDo: doctored})
		}
	}
	n.DirtyIgnored = d.Counters.DirtyIgnored
	if j.past.superseded(c.hash) {
		j.newest = nil // where its files are was judged already
		return nil
	}
	if n != d.Counters {
		j.found(c, Problem{Kind: VerdictsWrong, What: fmt.Sprintf("entry %d counts %+v, but its verdicts are %+v", e.N, d.Counters, n), ToDo: doctored})
	}
	j.rep.Counters.Add(d.Counters)
	c.done = d
	return j.settle()
}

// settle judges the files of the newest certificate, once: with its verdicts, or without when nothing more comes.
func (j *judge) settle() error {
	c := j.newest
	if c == nil {
		return nil
	}
	j.newest = nil
	if j.past.superseded(c.hash) {
		return nil
	}
	for i := range c.Files {
		v := account.Verdict("")
		if c.done != nil && i < len(c.done.Verdicts) {
			v = c.done.Verdicts[i]
		}
		if err := j.files.check(j, c, &c.Files[i], v); err != nil {
			return err
		}
	}
	j.tellLost(c)
	return nil
}

// end judges what is left when the log has been read.
func (j *judge) end() error {
	committing := j.newest != nil && j.newest.done == nil && !j.past.superseded(j.newest.hash)
	if err := j.settle(); err != nil {
		return err
	}
	if err := j.added(); err != nil {
		return err
	}
	for _, k := range slices.SortedFunc(maps.Keys(j.splits), compareKeys) {
		j.rep.Splits = append(j.rep.Splits, *j.splits[k])
	}
	for _, committed := range j.parts {
		if committed {
			j.rep.Partitions++
		}
	}
	switch {
	case j.rep.Verdict != Clean:
	case j.rewinding != "":
		j.rep.Verdict = Rewinding
	case committing:
		j.rep.Verdict = Committing
	}
	return nil
}
