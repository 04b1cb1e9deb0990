package story

import (
	"path"
	"strings"

	"staunch/account"
	"staunch/trace/namenode"
)

// alone looks for a path that no certificate names, such as a file that another tool wrote: all that is known of it are audit logs. Renames by the client
// that wrote it are followed.
func (t *teller) alone() error {
	p := strings.TrimRight(bare(t.Query.Path), "/")
	if p == "" || len(t.out.Files) > 0 || t.out.Audit == nil {
		return nil
	}
	made := t.madeAt(p)
	if made == nil {
		return nil // a folder, or written before the logs begin
	}
	if len(t.entries) == 0 {
		t.own[made.Who()] = true
	}
	last := p
	for range 10 { // a chain of renames
		next := t.renamed(last, made)
		if next == "" {
			break
		}
		t.note("%s renamed %s to %s", made.Who(), last, next)
		last = next
	}
	store, at, err := t.Stores.Resolve(t.Query.Path)
	if err != nil {
		return err
	}
	f := File{Table: path.Dir(p), Pending: p, Final: last, Task: taskOf(p), Promised: made.Time, State: Lost, file: &account.File{}}
	if i := strings.LastIndex(at, p); i >= 0 && last != p {
		at = at[:i] + last
	}
	switch _, there, known := exists(store, at); {
	case !known:
		f.State = Uncertain
	case there:
		f.State = Visible
	}
	t.out.Files = append(t.out.Files, f)
	return nil
}

// madeAt is the newest creation of a path.
func (t *teller) madeAt(p string) (made *namenode.Event) {
	for i := range t.out.Audit.Events {
		if e := &t.out.Audit.Events[i]; e.Allowed && (e.Cmd == "create" && e.Src == p || e.Cmd == "rename" && e.Dst == p) {
			made = e
		}
	}
	return made
}

// renamed is where the client that made a path moved it.
func (t *teller) renamed(p string, made *namenode.Event) string {
	to := ""
	for i := range t.out.Audit.Events {
		if e := &t.out.Audit.Events[i]; e.Allowed && e.Cmd == "rename" && e.Src == p && e.Who() == made.Who() && !e.Time.Before(made.Time) {
			to = e.Dst
		}
	}
	return to
}

// AuditOnly reports whether audit logs alone may answer: the folder is none of a job's.
func (o *Options) AuditOnly() bool {
	return len(o.AuditLogs) > 0 && (o.Query.Path != "" || o.Query.Prefix != "") && o.Query.Record == nil
}
