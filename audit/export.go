package audit

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"staunch/account"
	"staunch/fault"
)

// CertificateFormat and CertificateVersion mark the certificate of one partition, for whoever copies it away.
const (
	CertificateFormat  = "staunch-certificate"
	CertificateVersion = 1
)

// Exported is the certificate of one partition: what must stand in a copy of its folder. It holds all that is needed to check one.
type Exported struct {
	// Table and Partition say where the original is; Partition "" is the whole table.
	Table     string    `json:"table"`
	Partition string    `json:"partition"`
	Time      time.Time `json:"time"`
	// Verdict of the audit that it was made by; Hashed: contents were compared with the table's certificates then.
	Verdict Verdict `json:"verdict"`
	Hashed  bool    `json:"hashed"`
	// Committed: the partition, and each below it that has files, was declared complete.
	Committed bool           `json:"committed"`
	Jobs      []*ExportedJob `json:"jobs"`
	// Files are the visible ones in order of name; Lost those that were lost, and whose rows are in no file.
	Files []ExportedFile `json:"files"`
	Lost  []ExportedFile `json:"lost,omitempty"`
	Rows  int64          `json:"rows"`
	Bytes int64          `json:"bytes"`
}

// ExportedJob is a job that wrote files of the partition.
type ExportedJob struct {
	Job string `json:"job"`
	// Chain is the newest certificate of its log, Certificates are those that name files of the partition.
	Chain         account.ChainEnd `json:"chain"`
	Certificates  []ExportedLink   `json:"certificates"`
	AccountsClose bool             `json:"accounts_close"`
	// Splits are what the job has consumed for the whole table.
	Splits []Split `json:"splits"`
}

// ExportedLink is one certificate of the chain, by hash.
type ExportedLink struct {
	Checkpoint  account.CheckpointID `json:"checkpoint"`
	Certificate string               `json:"certificate"`
	Previous    string               `json:"previous"`
	Entry       int64                `json:"entry"`
}

// ExportedFile is one data file.
type ExportedFile struct {
	// Name is its path below the partition's folder.
	Name   string `json:"name"`
	Length int64  `json:"length"`
	// Sums have SHA-256, too, if contents were compared: whoever has the certificate need not trust whoever has the copy. Files of versions that recorded
	// folders have none.
	account.Sums
	Rows int64 `json:"rows"`
	// Offsets are the exact sets; none for files that no job of Staunch wrote.
	Offsets    []account.Offsets    `json:"offsets,omitempty"`
	Insert     string               `json:"insert,omitempty"`
	Job        string               `json:"job"`
	Checkpoint account.CheckpointID `json:"checkpoint,omitempty"`
	// Repaired is the number of the entry that replaced the file.
	Repaired int64 `json:"repaired,omitempty"`
	// Accepted says who took note of the loss.
	Accepted string `json:"accepted,omitempty"`

	by *Job // that wrote it; Job is its name, which is known for sure when its log was read
}

// exporter collects the files of one partition while the table is audited.
type exporter struct {
	Exported
	dir  string
	jobs map[*Job]*ExportedJob
}

func newExporter(root, partition string) *exporter {
	return &exporter{Exported: Exported{Partition: partition, Jobs: []*ExportedJob{}, Files: []ExportedFile{}}, dir: path.Join(root, partition), jobs: map[*Job]*ExportedJob{}}
}

// file takes one visible file in. c is nil for a file that an amend added.
func (x *exporter) file(j *judge, c *certificate, f *account.File, at string, s seen) {
	if !x.has(at) {
		return
	}
	e := x.entry(j, c, f, at)
	if r := s.repair; r != nil {
		e.Length, e.Sums, e.Repaired = r.Length, r.Sums, r.N
	}
	if s.sums.Recorded() {
		e.Sums = s.sums // what was read, and is what was recorded
	}
	x.Files = append(x.Files, e)
	x.Rows += e.Rows
	x.Bytes += e.Length
}

// has reports whether the file at this place belongs to the partition.
func (x *exporter) has(at string) bool { return x != nil && strings.HasPrefix(at, x.dir+"/") }

// lost takes in a file that is in neither place.
func (x *exporter) lost(j *judge, c *certificate, f *account.File, at, accepted string) {
	if !x.has(at) {
		return
	}
	e := x.entry(j, c, f, at)
	e.Accepted = accepted
	x.Lost = append(x.Lost, e)
}

func (x *exporter) entry(j *judge, c *certificate, f *account.File, at string) ExportedFile {
	e := ExportedFile{Name: strings.TrimPrefix(at, x.dir+"/"), Length: f.Length, Sums: f.Sums, Rows: f.Rows, Offsets: f.Offsets, Insert: f.Insert, by: j.rep}
	job := x.jobs[j.rep]
	if job == nil {
		job = &ExportedJob{Certificates: []ExportedLink{}}
		x.jobs[j.rep] = job
	}
	if c == nil {
		return e
	}
	e.Checkpoint = c.Checkpoint
	if n := len(job.Certificates); n == 0 || job.Certificates[n-1].Certificate != c.hash {
		job.Certificates = append(job.Certificates, ExportedLink{Checkpoint: c.Checkpoint, Certificate: c.hash, Previous: c.Previous, Entry: c.n})
	}
	return e
}

// concerns reports whether a problem speaks against a certificate of the folder: one of its files, or of anything that is no data file elsewhere.
func (x *exporter) concerns(root string, p *Problem) bool {
	elsewhere := strings.HasPrefix(p.Path, root+"/") && !strings.HasPrefix(p.Path, path.Join(root, "_staunch")+"/") && p.Path != x.dir && !strings.HasPrefix(p.Path, x.dir+"/")
	return !elsewhere
}

// export ends the certificate: what the audit found must not speak against it.
func (t *table) export(x *exporter) (*Exported, error) {
	against := 0
	count := func(list []Problem, more int64) {
		for i := range list {
			if x.concerns(t.root, &list[i]) {
				against++
			}
		}
		if more > 0 {
			against++ // they are not known one by one
		}
	}
	count(t.rep.Problems, t.rep.More)
	for _, j := range t.rep.Jobs {
		count(j.Problems, j.More)
	}
	if against > 0 {
		return nil, fault.Userf("partition %q gets no certificate: %d of the problems found concern it or the log", x.Partition, against)
	}
	if len(x.Files)+len(x.Lost) == 0 {
		return nil, fault.Userf("partition %q gets no certificate: no file in it is certified", x.Partition).
			WithHint("name the folder below the table, as dt=2026-01-31, or . for the whole table")
	}
	parts := map[string]bool{}
	for _, l := range t.logs {
		for p, committed := range l.judge.parts {
			parts[p] = parts[p] || committed
		}
	}
	x.Committed = true
	for _, f := range x.Files {
		x.Committed = x.Committed && parts[path.Join(x.Partition, path.Dir(f.Name))]
	}
	for _, list := range [][]ExportedFile{x.Files, x.Lost} {
		for i := range list {
			list[i].Job = list[i].by.Job
		}
	}
	for _, j := range t.rep.Jobs {
		e := x.jobs[j]
		if e == nil {
			continue
		}
		e.Job, e.AccountsClose, e.Splits = j.Job, j.AccountsClose, j.Splits
		e.Chain = account.ChainEnd{Certificate: j.Chain, Checkpoint: j.Last}
		x.Jobs = append(x.Jobs, e)
	}
	slices.SortFunc(x.Files, func(a, b ExportedFile) int { return cmp.Compare(a.Name, b.Name) })
	x.Table, x.Time, x.Hashed = t.rep.Table, t.rep.Time, !t.rep.Fast
	x.Verdict = Clean // of what concerns it
	if t.rep.Verdict != Wrong {
		x.Verdict = t.rep.Verdict
	}
	return &x.Exported, nil
}

// envelope is what stands before the body. The hash is that of the bytes between `"body":` and the last `}`.
const (
	envelope = `{"format":"` + CertificateFormat + `","version":%d,"sha256":"%s","body":`
	bodyMark = `"body":`
)

// Write writes the certificate: one JSON object, which says its own hash.
func (x *Exported) Write(out io.Writer) error {
	body, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	_, err = fmt.Fprintf(out, envelope+"%s}\n", CertificateVersion, hex.EncodeToString(sum[:]), body)
	return err
}

// ReadCertificate reads what Write wrote. What is none is an error of class Damage, also one of a newer version.
func ReadCertificate(b []byte) (*Exported, error) {
	bad := func(format string, args ...any) error {
		return fault.New(fault.Damage, "certificate of a partition: "+format, args...)
	}
	var head struct {
		Format  string          `json:"format"`
		Version int             `json:"version"`
		SHA256  string          `json:"sha256"`
		Body    json.RawMessage `json:"body"`
	}
	const should = "it should be the JSON object that staunch audit TABLE --export PARTITION writes"
	var wrong *json.UnmarshalTypeError
	switch err := json.Unmarshal(b, &head); {
	case errors.As(err, &wrong) && wrong.Field != "":
		return nil, bad("its %q is a JSON %s: %s", wrong.Field, wrong.Value, should)
	case errors.As(err, &wrong):
		return nil, bad("it is a JSON %s: %s", wrong.Value, should)
	case err != nil:
		return nil, bad("it is no JSON (%w): %s", err, should)
	}
	if head.Format != CertificateFormat {
		return nil, bad("its format is %q, not %q", head.Format, CertificateFormat)
	}
	if head.Version != CertificateVersion {
		return nil, bad("it has version %d, this version of staunch reads %d: use the one that wrote it", head.Version, CertificateVersion)
	}
	at, end := bytes.Index(b, []byte(bodyMark)), bytes.LastIndexByte(b, '}')
	if at < 0 || end < at+len(bodyMark) {
		return nil, bad("it has no body")
	}
	if sum := sha256.Sum256(b[at+len(bodyMark) : end]); hex.EncodeToString(sum[:]) != head.SHA256 {
		return nil, bad("it was altered: its hash is not the one that it names")
	}
	x := &Exported{}
	switch err := json.Unmarshal(head.Body, x); {
	case errors.As(err, &wrong):
		return nil, bad("its body has a JSON %s at %q: %s", wrong.Value, wrong.Field, should)
	case err != nil:
		return nil, bad("its body: %w: %s", err, should)
	}
	switch {
	case x.Table == "":
		return nil, bad("it does not say of which table it is")
	case len(x.Files)+len(x.Lost) == 0:
		return nil, bad("it names no file: there is nothing to prove")
	case slices.Contains(x.Jobs, nil):
		return nil, bad("one of its jobs is null")
	}
	names := map[string]bool{}
	for _, f := range x.Files {
		if !f.Recorded() && (f.Rows != 0 || len(f.Offsets) > 0) { // not from folders
			return nil, bad("it names %s without a checksum that this version knows", f.Name)
		}
		if f.Name == "" || path.IsAbs(f.Name) || path.Clean(f.Name) != f.Name || strings.HasPrefix(f.Name, "../") || f.Name == ".." || names[f.Name] {
			return nil, bad("%q is no name of a file below the partition, or is named twice", f.Name)
		}
		names[f.Name] = true
	}
	return x, nil
}

// disjoint finds offsets that two of the certificate's files hold.
func (x *Exported) disjoint(found func(Problem)) {
	closes := map[string]bool{}
	for _, j := range x.Jobs {
		closes[j.Job] = j.AccountsClose
	}
	inserts := map[string]map[string]bool{}
	for i := range x.Files {
		if f := &x.Files[i]; f.Checkpoint > 0 {
			if inserts[f.Job] == nil {
				inserts[f.Job] = map[string]bool{}
			}
			inserts[f.Job][f.Insert] = true
		}
	}
	insertOf := func(f *ExportedFile) string {
		if f.Checkpoint == 0 && len(inserts[f.Job]) == 1 { // of an amend: it stands for files of this INSERT
			for insert := range inserts[f.Job] {
				return insert
			}
		}
		return f.Insert
	}
	type owner struct{ job, split, insert string }
	pieces := map[owner][]piece{}
	for i := range x.Files {
		f := &x.Files[i]
		sum := int64(0)
		for _, o := range f.Offsets {
			k := owner{f.Job, o.Split, insertOf(f)}
			for _, r := range o.Set.Runs {
				pieces[k] = append(pieces[k], piece{r, i})
			}
			sum += o.Set.Count()
		}
		if closes[f.Job] && len(f.Offsets) > 0 && sum != f.Rows {
			found(Problem{Kind: AccountOpen, Path: f.Name, What: fmt.Sprintf("the certificate says that the file has %d rows, and names %d offsets for them", f.Rows, sum)})
		}
	}
	for _, k := range slices.SortedFunc(maps.Keys(pieces), func(a, b owner) int {
		return cmp.Or(cmp.Compare(a.job, b.job), cmp.Compare(a.split, b.split), cmp.Compare(a.insert, b.insert))
	}) {
		list := pieces[k]
		slices.SortFunc(list, func(a, b piece) int { return cmp.Compare(a.From, b.From) })
		for i := 1; i < len(list) && closes[k.job]; i++ {
			if a, b := list[i-1], list[i]; b.From < a.To {
				found(Problem{Kind: OffsetsTwice, Path: x.Files[b.file].Name, What: fmt.Sprintf("two files hold the same offsets of %s; the other one is %s", k.split, x.Files[a.file].Name),
					Offsets: span(k.split, b.From, min(a.To, b.To))})
				break
			}
		}
	}
}
