package commit

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"staunch/account"
	"staunch/commit/protocol"
	"staunch/env"
	"staunch/fault"
	"staunch/fault/failpoint"
	"staunch/fs"
	"staunch/log"
	logp "staunch/log/protocol"
)

// SegmentEvery is the number of certificates after which a segment replaces the entries before it.
const SegmentEvery = 128

// Variant takes rules of the protocol away. The zero value is the protocol; only the simulator sets others.
type Variant struct {
	File protocol.Variant
	// NoFence goes behind newer claims as if they were not there, and claims nothing.
	NoFence bool
	// NoClaim claims nothing, but heeds the claims of others.
	NoClaim bool
	// NoOlder lets an older epoch claim behind a newer one.
	NoOlder bool
	// AnyLog lets another log's attempt claim the table without --take-over.
	AnyLog bool
	// NoOthers writes what another job's log in the table covers.
	NoOthers bool
	// NoChain goes on from any state, wherever the table's chain ends.
	NoChain bool
	// BelowFences ends a claim that came to lie below the log's beginning, instead of appending it again.
	BelowFences bool
	// Early takes a certificate of the same checkpoint for the checkpoint's own, whatever complete it names.
	Early bool
	// DoneByID believes a done of any certificate of the same checkpoint.
	DoneByID bool
	// IgnoreDone judges files of a checkpoint that is done again.
	IgnoreDone bool
	// ListFolder commits what lies in the folders, not only what the certificate names.
	ListFolder bool
	// Copy makes files visible by a copy.
	Copy bool
	// NoSync says done before the renames are durable.
	NoSync bool
	// LostGoesOn goes on without a lost file.
	LostGoesOn bool
	// LostFirst stops at the first lost file, before the others are committed.
	LostFirst bool
	// RepairUnsynced reports a repair before it is durable, RepairNewName places replacements under names of their own, RepairIgnoresRewind places
	// them whatever was taken out of the chain.
	RepairUnsynced, RepairNewName, RepairIgnoresRewind bool
	// RewindSkipsStaged leaves replacements that are staged where they are.
	RewindSkipsStaged bool
	// RepairNoEntry places replacements without an entry.
	RepairNoEntry bool
	// NumberFences takes an operator's entry for a reason to stop.
	NumberFences bool
	// NoKeep and NoSupersede leave the table's entries of a rewind out; WithdrawUnsynced does not make its moves durable.
	NoKeep, NoSupersede, WithdrawUnsynced bool
	// CertificateLast appends the certificate after the renames.
	CertificateLast bool
	// Log takes rules of appending away.
	Log logp.Variant
	// AnyFiles takes a standing certificate of the same checkpoint for this sink's, whatever files it names.
	AnyFiles bool
	// SegmentEvery overrides the number of certificates a segment, JoinArchives that of archives which are joined, if not 0.
	SegmentEvery, JoinArchives int
}

// Owner is who commits.
type Owner struct {
	Job     string
	LogID   string
	LogPath string
	Epoch   account.Epoch
	Host    string
	PID     int
	// Nonce tells this process from others of the same epoch, host and pid.
	Nonce string
	// TakeOver overrules another job log's claim.
	TakeOver bool
	// Accept are the ids of losses to be accepted, and by whom.
	Accept    []string
	AcceptWho string
}

// Table commits to one table.
type Table struct {
	env     env.Env
	store   fs.FS
	root    string
	dir     string
	log     *log.Log
	owner   Owner
	variant Variant
	slog    *slog.Logger
	state   State
	// Certified, if set, is asked when a certificate stands and before the first rename. Its error ends the commit.
	Certified func(c *Certified) error
	// Judged, if set, is told the verdicts of a checkpoint's files before anything is said about them. What it gives is called before *done* is
	// appended; the renames are made durable meanwhile.
	Judged func(c *Certified, verdicts []account.Verdict) (settle func())
	// Missed, if set, is told how many files of the checkpoint that is being committed were in neither place when they were last looked for: from the
	// first look on, before a verdict, and 0 once the checkpoint is done.
	Missed func(files int)
}

func (t *Table) missed(files int) {
	if t.Missed != nil {
		t.Missed(files)
	}
}

// Dir is the folder of a job's log in a table.
func Dir(root, job string) string { return path.Join(root, "_staunch", Escape(job)) }

// Escape makes a job id a folder name: every byte that is not a letter, digit, '-', '_' or '.' becomes %XX, and so does a leading dot.
func Escape(job string) string {
	var b strings.Builder
	for i := 0; i < len(job); i++ {
		c := job[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_', c == '.' && i > 0:
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// Open prepares a table at root; it does no I/O.
func Open(e env.Env, store fs.FS, root string, owner Owner, v Variant, l *slog.Logger) *Table {
	dir := Dir(root, owner.Job)
	lg := log.Open(e, store, dir, ".staunch")
	lg.Variant = v.Log
	t := &Table{env: e, store: store, root: root, dir: dir, log: lg, owner: owner, variant: v, slog: l}
	t.state.doneByID = v.DoneByID
	return t
}

// Root is the table's folder.
func (t *Table) Root() string { return t.root }

// Place is the table's folder together with its store.
func (t *Table) Place() string { return fs.URI(t.store, t.root) }

// State is what was read so far.
func (t *Table) State() *State { return &t.state }

// Refresh reads what others appended.
func (t *Table) Refresh() error {
	entries, err := t.log.Read()
	if err != nil {
		return fmt.Errorf("log of table %s: %w", t.root, err)
	}
	if err := t.state.ApplyAll(entries); err != nil {
		return fmt.Errorf("log %s: %w", t.dir, err)
	}
	return nil
}

// StillOurs reads what others appended and reports a claim that takes the table away.
func (t *Table) StillOurs() error {
	if err := t.Refresh(); err != nil {
		return err
	}
	return t.stillOurs()
}

// fenced reports a claim that takes the table away from this owner.
func (t *Table) fenced(c *account.Claim) error {
	if t.variant.NoFence || c == nil || c.LogID == t.owner.LogID && (c.Epoch < t.owner.Epoch || t.own(c)) {
		return nil
	}
	if c.LogID == t.owner.LogID {
		return fault.New(fault.Fenced, "table %s was claimed by epoch %d of this job (host %s, pid %d); this is epoch %d", t.root, c.Epoch, c.Host, c.PID, t.owner.Epoch)
	}
	return fault.New(fault.Fenced, "table %s was claimed by another run of job %q with the log %s (host %s, pid %d)", t.root, c.Job, c.Log, c.Host, c.PID)
}

// claim is this process's.
func (t *Table) claim() account.Claim {
	o := &t.owner
	return account.Claim{LogID: o.LogID, Job: o.Job, Epoch: o.Epoch, Log: o.LogPath, Host: o.Host, PID: o.PID, Nonce: o.Nonce, Time: t.env.Now().UTC()}
}

// own reports whether this process made the claim.
func (t *Table) own(c *account.Claim) bool {
	return c.LogID == t.owner.LogID && c.Epoch == t.owner.Epoch && c.Host == t.owner.Host && c.PID == t.owner.PID && c.Nonce == t.owner.Nonce
}

// older reports, before this attempt claims, a claim that only a later history of its own log can have made: a begin's number is greater than
// those of all attempts before it.
func (t *Table) older(c *account.Claim) error {
	if c == nil || t.variant.NoOlder || c.Epoch < t.owner.Epoch || t.own(c) {
		return nil
	}
	return fault.New(fault.Fenced, "table %s was claimed by epoch %d of this job (host %s, pid %d), and this start is epoch %d only", t.root, c.Epoch, c.Host,
		c.PID, t.owner.Epoch).WithHint("either that process has just taken the job over, or %s is an older copy: restore the newest checkpoint directory of "+
		"this job, or go on from this one with --on-newer-output keep or rewind", t.owner.LogPath)
}

func (t *Table) foreign(c *account.Claim) error {
	if c == nil || c.LogID == t.owner.LogID || t.owner.TakeOver || t.variant.NoFence || t.variant.AnyLog {
		return nil
	}
	if c.Log == t.owner.LogPath {
		return fault.Userf("table %s has output of job %q that its log in %s recorded (id %s), but what lies there now is another log (id %s): it was removed "+
			"or replaced, or an entry of another log was put into it", t.root, c.Job, c.Log, c.LogID, t.owner.LogID).
			WithHint("nothing was changed. Put the job's own checkpoint directory back (execution.checkpointing.dir), or go on from what the table says with --from-table, " +
				"from a checkpoint that you have with --from-savepoint, or anew with --fresh")
	}
	return fault.Userf("table %s belongs to job %q with another log, %s (host %s, pid %d), which has not ended", t.root, c.Job, c.Log, c.Host, c.PID).
		WithHint("continue it with its own execution.checkpointing.dir, give this job another pipeline.name, or overrule it with --take-over")
}

// Claim makes this owner the only one that may commit. ended says whether another job log's claim is over (its log has the end entry).
// REQUIRES: called before anything is read for recovery or committed (PROTOCOL.md 2).
func (t *Table) Claim(ended func(account.Claim) bool) error {
	if err := t.Refresh(); err != nil {
		return err
	}
	if t.variant.NoFence {
		return nil
	}
	check := func(c *account.Claim) error { return t.mayClaim(c, ended) }
	if err := check(t.state.Claim); err != nil {
		return err
	}
	if t.variant.NoClaim {
		return nil
	}
	failpoint.Hit(failpoint.ClaimBefore)
	c := t.claim()
	c.TakeOver = t.state.Claim != nil && t.state.Claim.LogID != t.owner.LogID
	below := log.Again
	if t.variant.BelowFences {
		below = log.Fenced
	}
	err := t.append(account.KindClaim, c, func() error { return check(t.state.Claim) }, below)
	if err == nil {
		failpoint.Hit(failpoint.ClaimAfter)
	}
	return err
}

// mayClaim judges the claim in force.
func (t *Table) mayClaim(c *account.Claim, ended func(account.Claim) bool) error {
	// Also one that another log's claim hides. [B, of this log, takes over from A's; C, of the other, takes over from B; A's successor claims.]
	if err := t.older(t.state.claims[t.owner.LogID]); err != nil {
		return err
	}
	if c == nil || c.LogID == t.owner.LogID {
		return t.older(c)
	}
	if ended != nil && ended(*c) {
		return nil
	}
	return t.foreign(c)
}

// MayClaim tells whether Claim would be refused now. REQUIRES: Refresh.
func (t *Table) MayClaim(ended func(account.Claim) bool) error {
	if t.variant.NoFence {
		return nil
	}
	return t.mayClaim(t.state.Claim, ended)
}

// append puts an entry behind all that stands. check is asked after each entry of others that was read on the way.
func (t *Table) append(kind string, body any, check func() error, below log.Below) error {
	b, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode %s: %w", kind, err)
	}
	e, err := t.log.Append(log.Append{
		Kind: kind, Body: b,
		OnTaken: func(e log.Entry) error {
			if err := t.state.Apply(e); err != nil {
				return err
			}
			if err := t.newer(e); err != nil {
				return err
			}
			return check()
		},
		Below: func(own int64, all []log.Head) log.Below {
			if own < newestSegment(own, all) {
				return below
			}
			return log.Fine
		},
	})
	if err != nil {
		return fmt.Errorf("append %s to the log of table %s: %w", kind, t.root, err)
	}
	if err := t.state.Apply(e); err != nil {
		return err
	}
	return t.state.broken
}

// newestSegment is the number of the newest segment, own left out, or 0.
func newestSegment(own int64, all []log.Head) (newest int64) {
	for _, h := range all {
		if h.Kind == account.KindSegment && h.N != own {
			newest = max(newest, h.N)
		}
	}
	return newest
}

// newer reports an entry that a newer epoch of this job log wrote. Its claim may have been cleaned away already, behind a segment.
func (t *Table) newer(e log.Entry) error {
	var by struct {
		LogID string        `json:"log_id"`
		Epoch account.Epoch `json:"epoch"`
		Host  string        `json:"host"`
		PID   int           `json:"pid"`
	}
	if t.variant.NumberFences && (e.Kind == account.KindRepair || e.Kind == account.KindAmend) {
		return fault.New(fault.Fenced, "entry %d of the log of table %s is another process's", e.N, t.root)
	}
	if t.variant.NoFence || json.Unmarshal(e.Body, &by) != nil || by.LogID != t.owner.LogID || by.Epoch <= t.owner.Epoch {
		return nil
	}
	who := "" // a claim says it, other entries do not
	if by.Host != "" {
		who = fmt.Sprintf(" (host %s, pid %d)", by.Host, by.PID)
	}
	return fault.New(fault.Fenced, "table %s has a %s of epoch %d of this job%s; this is epoch %d", t.root, e.Kind, by.Epoch, who, t.owner.Epoch)
}

func (t *Table) stillOurs() error { return t.fenced(t.state.Claim) }

// Result is the outcome of one table's commit.
type Result struct {
	Certificate account.ChainEnd
	Counters    account.Counters
	Verdicts    []account.Verdict
	// Already is set when the checkpoint was done before.
	Already bool
	// Committed are the partitions that the log says are committed for this checkpoint.
	Committed map[string]bool
	// Lost are the files in neither place, accepted ones included.
	Lost []account.File
}

// Commit carries out one completed checkpoint: certificate, renames, verdicts, done. It may be called again after any error or crash.
// expect is where the table's chain must end before this checkpoint.
func (t *Table) Commit(cert account.Certificate, expect account.ChainEnd) (Result, error) {
	standing, err := t.certify(cert, expect)
	if err != nil {
		return Result{}, err
	}
	if standing == nil { // an earlier checkpoint's segment says that it is done
		return Result{Already: true, Certificate: t.state.Chain}, nil
	}
	res := Result{Certificate: account.ChainEnd{Certificate: standing.Hash, Checkpoint: standing.Checkpoint}, Committed: standing.Committed}
	if standing.Done != nil && !t.variant.IgnoreDone {
		res.Already, res.Counters, res.Verdicts, res.Lost = true, standing.Done.Counters, standing.Done.Verdicts, standing.lost()
		return res, nil
	}
	if t.Certified != nil {
		if err := t.Certified(standing); err != nil {
			return res, err
		}
	}
	if err := t.makeFolders(standing.Files); err != nil {
		return res, err
	}
	if t.variant.ListFolder {
		t.moveFolders(standing.Files)
	}
	if res.Verdicts, err = t.judgeAll(standing); err != nil {
		return res, err
	}
	for i, v := range res.Verdicts {
		res.Counters.Created++
		switch v {
		case account.Renamed:
			res.Counters.Renamed++
		case account.Skipped:
			res.Counters.Skipped++
		case account.Lost:
			res.Counters.Lost++
			res.Lost = append(res.Lost, standing.Files[i])
		}
	}
	failpoint.Hit(failpoint.RenamedAll)
	settle := func() {}
	if t.Judged != nil {
		settle = t.Judged(standing, res.Verdicts)
	}
	if t.variant.NoSync {
		t.slog.Debug("not synced")
	} else if err := t.sync(standing.Files); err != nil {
		return res, err
	}
	settle()
	failpoint.Hit(failpoint.SyncedAll)
	if t.variant.CertificateLast {
		if standing, err = t.appendCertificate(cert); err != nil {
			return res, err
		}
		res.Certificate.Certificate = standing.Hash
	}
	if err := t.acceptLost(standing, res.Lost); err != nil {
		return res, err
	}
	done := account.Done{LogID: t.owner.LogID, Epoch: t.owner.Epoch, Checkpoint: standing.Checkpoint, Certificate: standing.Hash,
		Time: t.env.Now().UTC(), Verdicts: res.Verdicts, Counters: res.Counters}
	if err := t.append(account.KindDone, done, t.stillOurs, log.Fenced); err != nil {
		return res, err
	}
	t.missed(0)
	failpoint.Hit(failpoint.DoneAfter)
	t.tidy(standing.Files)
	return res, t.segment()
}

// certify finds the standing certificate of the checkpoint or appends one. nil means that the checkpoint is done and its certificate archived.
func (t *Table) certify(cert account.Certificate, expect account.ChainEnd) (*Certified, error) {
	if err := t.stillOurs(); err != nil {
		return nil, err
	}
	for _, c := range t.state.Certificates {
		if c.Checkpoint == cert.Checkpoint && (c.Complete == cert.Complete || t.variant.Early) {
			return c, t.same(c, &cert)
		}
	}
	if t.state.archived(cert.Checkpoint, cert.Complete) {
		return nil, nil
	}
	if k := t.state.Kept; k != nil && k.Chain == t.state.Chain && k.Target.Checkpoint == cert.Checkpoint {
		return nil, nil // in front of what was kept, behind a segment
	}
	if t.state.Chain != expect && !t.variant.NoFence && !t.variant.NoChain {
		return nil, t.goingBack(cert.Checkpoint, expect)
	}
	cert.Previous = t.state.Chain.Certificate
	if err := t.fromDirectories(&cert); err != nil {
		return nil, err
	}
	if t.variant.CertificateLast {
		return &Certified{Certificate: cert}, nil
	}
	failpoint.Hit(failpoint.CertificateBefore)
	c, err := t.appendCertificate(cert)
	if err == nil {
		failpoint.Hit(failpoint.CertificateAfter)
	}
	return c, err
}

// same reports a standing certificate of the same checkpoint that promises other files: another sink of this job writes to the same folder by another
// spelling of its path, and what this one promises would never be moved.
func (t *Table) same(standing *Certified, cert *account.Certificate) error {
	if len(cert.Files) == 0 || len(cert.FromDirectories) > 0 || t.variant.Early || t.variant.NoFence || t.variant.AnyFiles {
		return nil
	}
	if slices.EqualFunc(standing.Files, cert.Files, func(a, b account.File) bool { return a.Pending == b.Pending }) {
		return nil
	}
	return fault.New(fault.Damage, "table %s: its certificate of checkpoint %d promises other files (%d) than this sink's checkpoint (%d)", t.root, cert.Checkpoint,
		len(standing.Files), len(cert.Files)).
		WithHint("%s", oneFolder)
}

const oneFolder = "two tables of this job are one folder, under two spellings of its path (a host name and its address, a link): give them one 'path', spelled alike. " +
	"What the checkpoint promises is where it was"

func (t *Table) appendCertificate(cert account.Certificate) (*Certified, error) {
	check := func() error {
		if err := t.stillOurs(); err != nil || t.variant.NoFence || t.variant.NoChain || t.variant.AnyFiles || t.state.Chain.Certificate == cert.Previous {
			return err
		}
		return fault.New(fault.Damage, "table %s: another sink of this process has just certified checkpoint %d there", t.root, t.state.Chain.Checkpoint).
			WithHint("%s", oneFolder)
	}
	if err := t.append(account.KindCertificate, cert, check, log.Fenced); err != nil {
		return nil, err
	}
	return t.state.Find(t.state.Chain.Certificate), nil
}

// goingBack refuses a state that is not the one the table's newest certificate was made from.
func (t *Table) goingBack(c account.CheckpointID, expect account.ChainEnd) error {
	err := fault.Userf("table %s: its newest certificate is of checkpoint %d (%s), but the restored state of checkpoint %d follows checkpoint %d (%s): "+
		"going on would repeat or lose records", t.root, t.state.Chain.Checkpoint, account.Short(t.state.Chain.Certificate), c, expect.Checkpoint, account.Short(expect.Certificate))
	if t.state.Chain.Checkpoint < expect.Checkpoint {
		return err.WithHint("nothing was changed. The table's folder is an older copy: restore the newest one; or go back to a checkpoint that it has (--from-savepoint), " +
			"or begin anew with --fresh and --on-newer-output keep or rewind")
	}
	return err.WithHint("nothing was changed. The state is older than the table, or of another history: restore the newest checkpoint directory of this job; or go back " +
		"by order: --on-newer-output rewind moves the newer output to _superseded, --on-newer-output keep leaves it, and its rows come again")
}

// CheckChain refuses to start when the table's chain ends neither at the restored checkpoint's certificate (complete is the hash of its entry
// in the job's log) nor at the one before it.
func (t *Table) CheckChain(c account.CheckpointID, complete string, expect account.ChainEnd) error {
	if t.state.Chain == expect || t.variant.NoFence || t.variant.NoChain {
		return nil
	}
	last := t.state.Find(t.state.Chain.Certificate)
	if last != nil && last.Checkpoint == c && last.Complete == complete {
		return nil
	}
	if t.state.archived(c, complete) {
		return nil
	}
	if t.state.Chain.Certificate == "" {
		return fault.Userf("table %s: the restored state of checkpoint %d has written to it up to checkpoint %d, but its log in %s is gone", t.root, c, expect.Checkpoint, t.dir).
			WithHint("put the table's folder back from a copy; or, if it was removed on purpose, begin anew with --fresh, or under another pipeline.name")
	}
	return t.goingBack(c, expect)
}

// judgeAll gives each file's verdict. Those that are missing are looked at again together: with each one's pause for itself a folder of
// thousands of files that somebody removed would be reported after hours.
func (t *Table) judgeAll(c *Certified) ([]account.Verdict, error) {
	files := c.Files
	out := make([]account.Verdict, len(files))
	var again []int
	var missing []*judgement
	for i := range files {
		failpoint.Hit(failpoint.RenameBefore)
		m := protocol.New(t.variant.File)
		j := &judgement{f: &files[i], m: m, ask: m.Start(), original: files[i].Length, reread: t.StillOurs,
			repairs: func() []Repairing { return t.state.Mended.Repairs(c.Hash, files[i].Final) }}
		v, err := t.judge(j, !t.variant.LostFirst)
		if err != nil {
			return nil, err
		}
		if v == account.Lost && t.variant.LostFirst {
			return nil, t.acceptLost(&Certified{Certificate: account.Certificate{Checkpoint: -1, Files: files}}, files[i:i+1])
		}
		failpoint.Hit(failpoint.RenameAfter)
		if out[i] = v; v == "" {
			again, missing = append(again, i), append(missing, j)
		}
	}
	t.missed(count(out, account.Lost) + len(missing))
	for len(missing) > 0 {
		env.Sleep(t.env, protocol.SecondLook)
		round, these := missing, again
		missing, again = nil, nil
		for k, j := range round {
			j.ask = j.m.Next(protocol.OK, false)
			v, err := t.judge(j, true)
			if err != nil {
				return nil, err
			}
			if out[these[k]] = v; v == "" {
				again, missing = append(again, these[k]), append(missing, j)
			}
		}
		t.missed(count(out, account.Lost) + len(missing))
	}
	return out, nil
}

func count(verdicts []account.Verdict, of account.Verdict) (n int) {
	for _, v := range verdicts {
		if v == of {
			n++
		}
	}
	return n
}

// judgement is a file whose verdict is being found.
type judgement struct {
	f    *account.File
	m    *protocol.File
	ask  protocol.Ask
	last error
	// original is the length of the file that the certificate names, repairs are those of it that the log holds as far as it was read, reread reads
	// it again and reports what ends this process.
	original int64
	repairs  func() []Repairing
	reread   func() error
}

// fits reports whether a file of this length may stand at the final place: the file, or a replacement of it.
func (j *judgement) fits(size int64) bool {
	return size == j.original || slices.ContainsFunc(j.repairs(), func(r Repairing) bool { return r.Length == size })
}

// judge carries j on until its verdict. With postpone it stops, without one, where the wait before a second look would begin.
func (t *Table) judge(j *judgement, postpone bool) (account.Verdict, error) {
	f, m, last := j.f, j.m, j.last
	for ask := j.ask; ; {
		var a protocol.Answer
		same := false
		switch ask {
		case protocol.MakeParent:
			a, last = answer(t.store.MkdirAll(path.Dir(f.Final)), last)
		case protocol.Rename:
			move := t.store.Rename
			if t.variant.Copy {
				move = t.copy
			}
			a, last = answer(move(f.Pending, f.Final), last)
		case protocol.LookSource:
			_, err := t.store.Stat(f.Pending)
			a, last = answer(err, last)
		case protocol.LookTarget:
			info, err := t.store.Stat(f.Final)
			a, last = answer(err, last)
			same = err == nil && j.fits(info.Size)
		case protocol.ReadLog:
			if err := j.reread(); err != nil {
				return "", err
			}
			if a = protocol.OK; len(j.repairs()) > 0 {
				a = protocol.Exists
			}
		case protocol.Wait:
			if postpone && m.Delay == protocol.SecondLook {
				j.last = last
				return "", nil
			}
			env.Sleep(t.env, m.Delay)
		case protocol.IsRenamed:
			return account.Renamed, nil
		case protocol.IsSkipped:
			return account.Skipped, nil
		case protocol.IsLost:
			return account.Lost, nil
		case protocol.IsDamaged:
			return "", t.damaged(f)
		case protocol.Fails:
			return "", fault.New(fault.Transient, "rename %s to %s: %w", f.Pending, f.Final, last)
		}
		ask = m.Next(a, same)
	}
}

func answer(err, last error) (protocol.Answer, error) {
	switch {
	case err == nil:
		return protocol.OK, last
	case errors.Is(err, fs.ErrExist):
		return protocol.Exists, err
	case errors.Is(err, fs.ErrNotExist):
		return protocol.Missing, err
	case errors.Is(err, fs.ErrRefused):
		return protocol.Refused, err
	case errors.Is(err, fs.ErrUnavailable):
		return protocol.Unavailable, err
	}
	return protocol.Other, err
}

func (t *Table) damaged(f *account.File) error {
	size := int64(-1)
	if info, err := t.store.Stat(f.Final); err == nil {
		size = info.Size
	}
	return fault.New(fault.Damage, "%s is %d bytes long, but the file that was written for it, %s, had %d", f.Final, size, f.Pending, f.Length).
		WithHint("somebody else wrote or changed the file at the final place; move it away and run again")
}

// acceptLost lets a loss pass that a person has accepted, and else makes it the job's end.
func (t *Table) acceptLost(c *Certified, lost []account.File) error {
	open := false
	for i := range lost {
		open = open || !c.AcceptedLoss(lost[i].Final)
	}
	if !open || t.variant.LostGoesOn {
		return nil
	}
	id := LossID(c.Checkpoint, c.Hash, lost)
	named := lost // [The id names three files, and an operator's repair brings two of them back before this start has looked.]
	for _, f := range c.Files {
		if len(t.state.Mended.Repairs(c.Hash, f.Final)) > 0 && !slices.Contains(finals(lost), f.Final) {
			named = append(slices.Clip(named), f)
		}
	}
	before := LossID(c.Checkpoint, c.Hash, named)
	for _, a := range t.owner.Accept {
		if a != id && a != before {
			continue
		}
		return t.append(account.KindAccept, account.Accept{LogID: t.owner.LogID, Checkpoint: c.Checkpoint, Certificate: c.Hash, ID: a, Files: finals(lost),
			Who: t.owner.AcceptWho, Why: "--accept-lost", Time: t.env.Now().UTC()}, t.stillOurs, log.Fenced)
	}
	return t.lossError(c, lost, id)
}

// lossError names what is lost and both ways out.
func (t *Table) lossError(c *Certified, lost []account.File, id string) error {
	var b strings.Builder
	rows := int64(0)
	for _, f := range lost {
		rows += f.Rows
		fmt.Fprintf(&b, "\n  lost: %s (%d rows)\n        was written as %s", f.Final, f.Rows, f.Pending)
		for _, o := range f.Offsets {
			fmt.Fprintf(&b, "\n        %s offsets %s", o.Split, o.Set)
		}
		for _, r := range t.state.Mended.Repairs(c.Hash, f.Final) {
			fmt.Fprintf(&b, "\n        %s began to repair it on %s, %s; its replacement is not in its place", r.Who, r.Host, r.Time.Format(time.RFC3339))
		}
	}
	given := ""
	if len(t.owner.Accept) > 0 {
		given = fmt.Sprintf(" (not %s, which names no loss that is open in this table)", strings.Join(t.owner.Accept, ", "))
	}
	return fault.Lostf("%d of %d files that checkpoint %d promises to table %s are in neither place, %d rows%s", len(lost), len(c.Files), c.Checkpoint, t.root, rows, b.String()).
		WithHint("the other files of the checkpoint are committed. Find out what removed these (staunch trace FILE.sql --checkpoint %d); then get their rows back (staunch audit FILE.sql "+
			"--repair) and start again, or go on without them: --accept-lost %s%s", c.Checkpoint, id, given)
}

// finals are the final paths of files, sorted.
func finals(files []account.File) []string {
	var out []string
	for i := range files {
		out = append(out, files[i].Final)
	}
	slices.Sort(out)
	return out
}

// makeFolders makes the targets' folders and makes them durable before anything is moved there: a rename whose target folder is lost in a power
// cut would take the file with it.
func (t *Table) makeFolders(files []account.File) error {
	var made, above []string
	for i := range files {
		d := path.Dir(files[i].Final)
		if slices.Contains(made, d) {
			continue
		}
		made = append(made, d)
		if err := t.patient(func() error { return t.store.MkdirAll(d) }); err != nil {
			return fmt.Errorf("make folder %s: %w", d, err)
		}
		for d != t.root && len(d) > len(t.root) {
			d = path.Dir(d)
			if !slices.Contains(above, d) {
				above = append(above, d)
			}
		}
	}
	return t.syncDirs(above)
}

// sync makes the renames durable: first the folders that the files went to, then those that they came from.
func (t *Table) sync(files []account.File) error {
	var to, from []string
	for i := range files {
		if d := path.Dir(files[i].Final); !slices.Contains(to, d) {
			to = append(to, d)
		}
		if d := path.Dir(files[i].Pending); !slices.Contains(from, d) {
			from = append(from, d)
		}
	}
	if err := t.syncDirs(to); err != nil {
		return err
	}
	return t.syncDirs(from)
}

func (t *Table) syncDirs(dirs []string) error {
	for _, d := range dirs {
		err := t.patient(func() error { return t.store.SyncDir(d) })
		if err != nil && !errors.Is(err, fs.ErrNotExist) { // a lost file's folder may be gone with it
			return fmt.Errorf("sync folder %s: %w", d, err)
		}
	}
	return nil
}

// patient waits through outages.
func (t *Table) patient(call func() error) error {
	for n := 0; ; n++ {
		err := call()
		if !errors.Is(err, fs.ErrUnavailable) {
			return err
		}
		env.Sleep(t.env, min(50*time.Millisecond<<min(n, 10), protocol.MaxDelay))
	}
}

// tidy removes the folders that the renames left empty. Their ids are over: running writers name greater ones (PROTOCOL.md 6).
func (t *Table) tidy(files []account.File) {
	dirs := make([]string, len(files))
	for i := range files {
		dirs[i] = path.Dir(files[i].Pending)
	}
	t.tidyDirs(dirs)
}

func (t *Table) tidyDirs(dirs []string) {
	seen := map[string]bool{}
	for _, d := range dirs {
		if seen[d] || !strings.HasPrefix(d, t.root+"/_DUMP_TEMPORARY/cp-") {
			continue
		}
		seen[d] = true
		if t.store.DeleteDir(d) == nil {
			if up := path.Dir(d); !seen[up] {
				_ = t.store.DeleteDir(up) // best effort: not empty while another task's files are there
			}
		}
	}
}

// PartitionsCommitted records that the success files of partitions stand.
func (t *Table) PartitionsCommitted(certificate account.ChainEnd, partitions []string) error {
	return t.append(account.KindPartition, account.Partition{LogID: t.owner.LogID, Checkpoint: certificate.Checkpoint,
		Certificate: certificate.Certificate, Partitions: partitions, Time: t.env.Now().UTC()}, t.stillOurs, log.Fenced)
}
