package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"time"

	"staunch/account"
	"staunch/config"
	"staunch/connector"
	"staunch/connector/rows"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/plan"
	"staunch/trace"
	"staunch/trace/namenode"
	"staunch/trace/story"
	"staunch/types"
)

// The columns of the tables staunch.*.
var (
	text, number, truth = types.String_, types.New(types.BigInt), types.New(types.Boolean)
	instant             = types.NewTimestampLTZ(6)

	traceColumns = []connector.Column{{Name: "ts", Type: instant}, {Name: "job", Type: text}, {Name: "epoch", Type: number}, {Name: "attempt", Type: number},
		{Name: "checkpoint_id", Type: number}, {Name: "task", Type: number}, {Name: "op", Type: text}, {Name: "path", Type: text}, {Name: "target", Type: text},
		{Name: "outcome", Type: text}, {Name: "took_us", Type: number}, {Name: "bytes", Type: number}, {Name: "files", Type: number}, {Name: "error", Type: text},
		{Name: "note", Type: text}, {Name: "host", Type: text}, {Name: "pid", Type: number}}

	auditColumns = []connector.Column{{Name: "ts", Type: instant}, {Name: "allowed", Type: truth}, {Name: "ugi", Type: text}, {Name: "ip", Type: text}, {Name: "cmd", Type: text},
		{Name: "options", Type: text}, {Name: "src", Type: text}, {Name: "dst", Type: text}, {Name: "caller", Type: text}, {Name: "log", Type: text}, {Name: "line", Type: number}}

	filesColumns = []connector.Column{{Name: "job", Type: text}, {Name: "table_path", Type: text}, {Name: "checkpoint_id", Type: number}, {Name: "epoch", Type: number},
		{Name: "task", Type: number}, {Name: "folder", Type: text}, {Name: "path", Type: text}, {Name: "pending", Type: text}, {Name: "bytes", Type: number},
		{Name: "row_count", Type: number}, {Name: "xxh128", Type: text}, {Name: "sha256", Type: text}, {Name: "verdict", Type: text}, {Name: "completed", Type: instant}, {Name: "done", Type: instant},
		{Name: "state", Type: text}, {Name: "accepted", Type: truth}, {Name: "offsets", Type: text}}

	accountsColumns = []connector.Column{{Name: "job", Type: text}, {Name: "table_path", Type: text}, {Name: "checkpoint_id", Type: number}, {Name: "completed", Type: instant},
		{Name: "split", Type: text}, {Name: "insert_id", Type: text}, {Name: "from_offset", Type: number}, {Name: "to_offset", Type: number}, {Name: "in_files", Type: number},
		{Name: "filtered", Type: number}, {Name: "rejected", Type: number}, {Name: "null_values", Type: number}, {Name: "gaps", Type: number}, {Name: "skipped", Type: number},
		{Name: "closed", Type: truth}, {Name: "superseded", Type: truth}}
)

// systemTables are the tables staunch.*: of the jobs that wrote the tables that the file declares, or, if it declares none, of all jobs in the
// checkpoint directory. note is told what is to be known about what was read.
func systemTables(stores fs.Resolver, note func(string)) []plan.SystemTable {
	type reading func(o story.Options, note func(string), wanted func(string) bool, yield func(rows.Row) error) error
	table := func(name string, columns []connector.Column, read reading) plan.SystemTable {
		return plan.SystemTable{Name: name, Columns: columns, Source: func(t connector.Table, paths []string, settings *config.Job) (connector.Source, error) {
			return rows.New(columns, t.Columns, func(yield func(rows.Row) error) error {
				o, err := systemPlaces(stores, paths, settings)
				if err != nil {
					return err
				}
				return asked(read(o, note, func(name string) bool {
					for _, c := range t.Columns {
						if c.Name == name {
							return true
						}
					}
					return false
				}, yield))
			})
		}}
	}
	return []plan.SystemTable{table("trace", traceColumns, readTraceTable), table("hdfs_audit", auditColumns, readAuditTable), table("files", filesColumns, readFilesTable),
		table("accounts", accountsColumns, readAccountsTable)}
}

// asked gives an error that nobody classified the class of a question that cannot be answered: it is not asked again.
func asked(err error) error {
	if err == nil || fault.ClassOf(err) != fault.Bug {
		return err
	}
	return &fault.Error{Class: fault.User, Err: err}
}

// systemPlaces finds the jobs and tables that a query is about.
func systemPlaces(stores fs.Resolver, paths []string, settings *config.Job) (story.Options, error) {
	o := story.Options{Env: &env.Real{}, Stores: stores, AuditLogs: settings.Values().List("staunch.hdfs-audit.logs")}
	o.Query.Task = trace.NoTask
	user := func(err error) (story.Options, error) { return o, &fault.Error{Class: fault.User, Err: err} }
	for _, p := range paths {
		store, root, err := stores.Resolve(p)
		if err != nil {
			return user(err)
		}
		if _, err := store.Stat(path.Join(root, "_staunch")); errors.Is(err, fs.ErrNotExist) {
			continue // nothing was written yet
		}
		if err := placesOf(&o, store, root); err != nil {
			return user(err)
		}
	}
	if len(paths) > 0 {
		return o, nil
	}
	ck, err := settings.Checkpointing()
	if err != nil {
		return user(err)
	}
	store, dir, err := resolveCheckpoints(stores, ck.Dir)
	if err != nil {
		return user(err)
	}
	infos, err := store.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return user(err)
	}
	for _, i := range infos {
		if j, err := store.Stat(path.Join(dir, i.Name, "trace")); err != nil || !j.Dir {
			continue
		}
		if err := placesOf(&o, store, path.Join(dir, i.Name)); err != nil {
			return user(err)
		}
	}
	return o, nil
}

// resolveCheckpoints finds the checkpoint directory; "" is the default one.
func resolveCheckpoints(stores fs.Resolver, dir string) (fs.FS, string, error) {
	if dir == "" {
		var err error
		if dir, err = config.DefaultStateDir(os.Getenv); err != nil {
			return nil, "", err
		}
	}
	return stores.Resolve(dir)
}

// optional is nil for a zero value.
func optional[T comparable](v T) any {
	var zero T
	if v == zero {
		return nil
	}
	return v
}

func readTraceTable(o story.Options, note func(string), _ func(string) bool, yield func(rows.Row) error) error {
	o.Tables, o.AuditLogs = nil, nil
	s, err := story.Tell(o)
	if err != nil {
		return err
	}
	for _, n := range s.Notes {
		note(n)
	}
	for _, t := range s.Traces {
		for i := range t.Entries {
			e := &t.Entries[i]
			var task any
			if e.Task != trace.NoTask {
				task = e.Task
			}
			err := yield(rows.Row{time.UnixMicro(e.Record.Time), e.Job, int64(e.Epoch), e.Attempt, optional(int64(e.Checkpoint)), task, string(e.Op), optional(e.Path), optional(e.To),
				e.Outcome.String(), e.Took.Microseconds(), optional(e.Bytes), optional(e.Files), optional(e.Error), optional(e.Note), e.Host, e.PID})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

func readAuditTable(o story.Options, note func(string), _ func(string) bool, yield func(rows.Row) error) error {
	if len(o.AuditLogs) == 0 {
		return fault.Userf("table staunch.hdfs_audit: no audit log is named").WithHint("SET 'staunch.hdfs-audit.logs' = '/var/log/hadoop/hdfs-audit.log;...'")
	}
	return story.EachAudited(o, note, func(e *namenode.Event, r *namenode.Report) error {
		return yield(rows.Row{e.Time, e.Allowed, e.User, e.IP, e.Cmd, optional(e.Options), optional(e.Src), optional(e.Dst), optional(e.Caller), r.Path, e.Line})
	})
}

func readFilesTable(o story.Options, _ func(string), wanted func(string) bool, yield func(rows.Row) error) error {
	for _, tb := range o.Tables {
		err := story.EachFile(o.Env, tb, wanted("state"), func(f *story.File, a *account.File) error {
			offsets := ""
			if wanted("offsets") {
				for _, x := range a.Offsets {
					offsets += fmt.Sprintf("%s: %s; ", x.Split, x.Set)
				}
			}
			return yield(rows.Row{f.Job, f.Table, int64(f.Checkpoint), int64(f.Epoch), f.Task, optional(f.Partition), f.Final, f.Pending, f.Length, f.Rows, optional(a.XXH128), optional(a.SHA256),
				optional(string(f.Verdict)), f.Promised, f.Done, string(f.State), f.Accepted, optional(offsets)})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func readAccountsTable(o story.Options, _ func(string), _ func(string) bool, yield func(rows.Row) error) error {
	for _, tb := range o.Tables {
		err := story.EachAccount(o.Env, tb, func(a *story.Account) error {
			return yield(rows.Row{a.Job, a.Table, int64(a.Certificate.Checkpoint), a.Certificate.Time, a.Split, optional(a.Insert), a.From, a.To, a.InFiles, a.Filtered, a.Rejected,
				a.Null, a.Gaps, a.Skipped, a.InFiles == a.Rows(), a.Certificate.Superseded > 0})
		})
		if err != nil {
			return err
		}
	}
	return nil
}
