package clean

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"staunch/account"
)

// Kind is what something found is.
type Kind string

// The kinds of things that may be removed.
const (
	Pending    Kind = "pending file"
	Probe      Kind = "probe file"
	Staged     Kind = "staged log entry"
	Archive    Kind = "unused archive"
	Folder     Kind = "empty folder"
	Superseded Kind = "superseded file"
	// Replacement is what a repair staged for a lost file, and which is not needed.
	Replacement Kind = "replacement of a lost file"
)

// Reason is why something is left.
type Reason string

// The reasons, in the order in which they are looked at.
const (
	Foreign   Reason = "not known to be Staunch's"
	OtherJob  Reason = "of another job"
	Named     Reason = "named by a checkpoint or certificate"
	InFolder  Reason = "in a folder that a checkpoint names as a whole"
	Running   Reason = "of the newest attempt"
	Elsewhere Reason = "perhaps of an attempt under another checkpoint directory"
	Young     Reason = "younger than the limit"
	// Repairing: a repair may still put it into its place.
	Repairing Reason = "of a repair that is not over"
)

// spare is the least age at which something goes that does not tell its epoch: a process that just starts may have made it.
const spare = time.Hour

// Found is a file or folder of a listing.
type Found struct {
	Path     string
	Size     int64
	Modified time.Time
	Dir      bool
	Symlink  bool
	// Entry is what a staged log entry tells of its writer, nil if it cannot be read.
	Entry *Writer
}

// Writer is who wrote a log entry; Epoch is 0 in a begin, which does not know it yet.
type Writer struct {
	LogID string        `json:"log_id"`
	Epoch account.Epoch `json:"epoch"`
}

// Listing is what stands in the places where a job leaves something, each folder before what it holds. REQUIRES: made before State was read.
type Listing struct {
	// Root is the table's folder, empty for a job's own log.
	Root string
	// Temporary is everything below the table's temporary folder.
	Temporary []Found
	// Log is what lies beside the entries of the log: staged entries, archives, probe files.
	Log []Found
}

// Owner is a job log under which attempts have written to the table.
type Owner struct {
	LogID string
	// Dir is the log's folder.
	Dir string
	// Own: the log of the job that is cleaned for. Lost: it cannot be read, or another log stands in its place.
	Own, Lost bool
	// Newest is the newest attempt that has begun, Ended: it has ended the job. Claimed is the newest that claimed the table.
	Newest, Claimed account.Epoch
	Ended           bool
}

// over reports whether no attempt of epoch e under this log can complete a checkpoint any more.
func (o *Owner) over(e account.Epoch) bool {
	switch {
	case o.Lost:
		return e > o.Claimed
	case o.Ended && e <= o.Newest, !o.Own && e > max(o.Newest, o.Claimed): // the latter: an epoch that it never had
		return true
	}
	return e < o.Newest
}

// State is what the logs say.
type State struct {
	Job    string
	Owners []Owner
	// Named are the names, without folder, of the pending files that completes and certificates name; Folders the tasks' folders that a complete
	// names as a whole, as `cp-<id>/task-<k>`.
	Named   map[string]bool
	Folders map[string]bool
	// Repairing are the names of staged replacements that an entry names and that may still go to their place.
	Repairing map[string]bool
	// Completed is the newest completed checkpoint under the log that owns the table now; one below that of a certificate that is not done, and 0 while
	// superseded files are being moved.
	Completed account.CheckpointID
	// Mine, if not 0, is the epoch of the process that asks, which writes nothing at the moment.
	Mine account.Epoch
	// Last is the number of the newest entry of the table's log, Archives the names that segments give.
	Last     int64
	Archives map[string]bool
}

// over reports whether an epoch is over, and if not, why.
func (s *State) over(e account.Epoch) (Reason, bool) {
	for i := range s.Owners {
		if o := &s.Owners[i]; !o.over(e) && !(o.Own && e == s.Mine && e == o.Newest) {
			if o.Own {
				return Running, false
			}
			return Elsewhere, false
		}
	}
	if len(s.Owners) == 0 { // nothing is known
		return Running, false
	}
	return "", true
}

// Removal is one delete.
type Removal struct {
	Found
	Kind Kind
}

// Left is something that stays.
type Left struct {
	Found
	Reason Reason
}

// Plan says what is to be removed, in this order, and what is left.
type Plan struct {
	Remove []Removal
	Left   []Left
}

// Judge says what of a listing may be removed. now is the store's time, age how old it must be.
func Judge(l Listing, s *State, now time.Time, age time.Duration) Plan {
	j := &judge{l: l, s: s, now: now, age: age, job8: account.Job8(s.Job)}
	for i := range l.Temporary {
		f := &l.Temporary[i]
		if f.Dir && !f.Symlink {
			continue
		}
		kind, why := j.temporary(f)
		j.decide(f, kind, why)
	}
	for i := range l.Log {
		kind, why := j.beside(&l.Log[i])
		j.decide(&l.Log[i], kind, why)
	}
	j.folders()
	return j.plan
}

type judge struct {
	l    Listing
	s    *State
	now  time.Time
	age  time.Duration
	job8 string
	plan Plan
}

func (j *judge) decide(f *Found, kind Kind, why Reason) {
	if why != "" {
		j.plan.Left = append(j.plan.Left, Left{*f, why})
		return
	}
	j.plan.Remove = append(j.plan.Remove, Removal{*f, kind})
}

// old reports whether f has reached an age.
func (j *judge) old(f *Found, age time.Duration) bool { return j.now.Sub(f.Modified) >= age }

// temporary judges a file below the temporary folder.
func (j *judge) temporary(f *Found) (Kind, Reason) {
	top := path.Join(j.l.Root, temporary)
	dir, name := path.Split(f.Path)
	dir = path.Clean(dir)
	if f.Symlink {
		return Pending, Foreign
	}
	if job8, epoch, ok := account.ParseProbeName(name); ok && dir == top {
		return Probe, j.probe(f, job8, epoch)
	}
	if job8, _, ok := account.ParseRepairName(name); ok && dir == top {
		return Replacement, j.replacement(f, name, job8)
	}
	stem, pending := strings.CutSuffix(name, account.PendingSuffix)
	n, ok := account.ParseFileName(stem)
	if !pending || !ok || dir != path.Join(top, cpFolder(n.Checkpoint), taskFolder(n.Subtask)) {
		return Pending, Foreign
	}
	if n.Job8 != j.job8 {
		return Pending, OtherJob
	}
	if j.s.Named[name] {
		return Pending, Named
	}
	if j.s.Folders[strings.TrimPrefix(dir, top+"/")] {
		return Pending, InFolder
	}
	if why, over := j.s.over(n.Epoch); !over {
		return Pending, why
	}
	if !j.old(f, j.age) {
		return Pending, Young
	}
	return Pending, ""
}

// replacement judges a staged replacement of a lost file. One that no entry names yet may be of a repair that is writing it.
func (j *judge) replacement(f *Found, name, job8 string) Reason {
	switch {
	case job8 != j.job8:
		return OtherJob
	case j.s.Repairing[name]:
		return Repairing
	case !j.old(f, max(j.age, spare)):
		return Young
	}
	return ""
}

func (j *judge) probe(f *Found, job8 string, epoch account.Epoch) Reason {
	if job8 != j.job8 {
		return OtherJob
	}
	if epoch == 0 { // made by `check` or `clean`, outside any attempt
		if !j.old(f, max(j.age, spare)) {
			return Young
		}
		return ""
	}
	if why, over := j.s.over(epoch); !over {
		return why
	}
	if !j.old(f, j.age) {
		return Young
	}
	return ""
}

// beside judges a file in a log's folder.
func (j *judge) beside(f *Found) (Kind, Reason) {
	name := path.Base(f.Path)
	switch {
	case f.Dir || f.Symlink:
	case isStaged(name):
		return Staged, j.staged(f)
	case strings.HasPrefix(name, archivePrefix):
		if to, ok := archiveEnd(name); ok {
			return Archive, j.archive(f, name, to)
		}
	default:
		if job8, epoch, ok := account.ParseProbeName(name); ok {
			return Probe, j.probe(f, job8, epoch)
		}
	}
	return Staged, Foreign
}

func (j *judge) staged(f *Found) Reason {
	age := j.age
	if f.Entry == nil || f.Entry.Epoch == 0 {
		age = max(age, spare)
	} else if why, over := j.s.over(f.Entry.Epoch); !over {
		return why
	}
	if !j.old(f, age) {
		return Young
	}
	return ""
}

// archive: only the entry that directly follows an archive's last one can be the segment that names it.
func (j *judge) archive(f *Found, name string, to int64) Reason {
	switch {
	case j.s.Archives[name]:
		return Named
	case j.s.Last <= to:
		return Running
	case !j.old(f, j.age):
		return Young
	}
	return ""
}

// folders adds the folders that will be empty, the deepest first. Their ids are over: running writers name greater ones.
func (j *judge) folders() {
	top := path.Join(j.l.Root, temporary)
	full := map[string]bool{}
	keeps := func(p string) { // what stays keeps the folders around it
		for d := path.Dir(p); len(d) > len(top); d = path.Dir(d) {
			full[d] = true
		}
	}
	for _, l := range j.plan.Left {
		keeps(l.Path)
	}
	var empty []*Found
	for i := range j.l.Temporary {
		f := &j.l.Temporary[i]
		if !f.Dir || f.Symlink {
			continue
		}
		if rel := strings.TrimPrefix(f.Path, top+"/"); !full[f.Path] && !j.s.Folders[rel] && j.isOver(rel) {
			empty = append(empty, f)
			continue
		}
		keeps(f.Path)
	}
	// Those around a folder that stays came before it in the listing.
	empty = slices.DeleteFunc(empty, func(f *Found) bool { return full[f.Path] })
	slices.SortStableFunc(empty, func(a, b *Found) int { return cmp.Compare(strings.Count(b.Path, "/"), strings.Count(a.Path, "/")) })
	for _, f := range empty {
		j.plan.Remove = append(j.plan.Remove, Removal{*f, Folder})
	}
}

// isOver reports whether rel is cp-<id> or cp-<id>/task-<k> with an id that no writer names any more.
func (j *judge) isOver(rel string) bool {
	cp, task, deep := strings.Cut(rel, "/")
	id, ok := numbered(cp, "cp-")
	if deep && ok {
		_, ok = numbered(task, "task-")
	}
	return ok && id <= int64(j.s.Completed)
}

func cpFolder(id account.CheckpointID) string { return "cp-" + strconv.FormatInt(int64(id), 10) }

func taskFolder(k int) string { return "task-" + strconv.Itoa(k) }

// numbered reads a name of a prefix and a number in its only spelling.
func numbered(name, prefix string) (int64, bool) {
	digits, ok := strings.CutPrefix(name, prefix)
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, ok && err == nil && n >= 0 && strconv.FormatInt(n, 10) == digits
}
