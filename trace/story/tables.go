package story

import (
	"fmt"

	"staunch/account"
	"staunch/commit"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
	"staunch/trace/namenode"
)

// EachFile visits every file that a table's certificates name, from the oldest. Where it is now is looked up if look is set.
func EachFile(e env.Env, tb Table, look bool, visit func(*File, *account.File) error) error {
	as := amends{}
	return each(e, tb, func(c *commit.Recorded) error {
		for i := range c.Files {
			f := as.fileOf(tb, c, i)
			if look {
				f.look(tb, c)
			} else if c.Superseded > 0 {
				f.State = Superseded
			}
			if err := visit(&f, &c.Files[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Account is what one checkpoint consumed of a split for one INSERT.
type Account struct {
	account.Range
	Job, Table  string
	Certificate *commit.Recorded
	// InFiles are the rows of the split in the checkpoint's files.
	InFiles int64
}

// EachAccount visits every range of a table's certificates, from the oldest.
func EachAccount(e env.Env, tb Table, visit func(*Account) error) error {
	return each(e, tb, func(c *commit.Recorded) error {
		type key struct{ split, insert string }
		in := map[key]int64{}
		for i := range c.Files {
			for _, o := range c.Files[i].Offsets {
				in[key{o.Split, c.Files[i].Insert}] += o.Set.Count()
			}
		}
		for _, r := range c.Ranges {
			a := Account{Range: r, Job: tb.Job, Table: fs.URI(tb.Store, tb.Root), Certificate: c, InFiles: in[key{r.Split, r.Insert}]}
			if err := visit(&a); err != nil {
				return err
			}
		}
		return nil
	})
}

func each(e env.Env, tb Table, visit func(*commit.Recorded) error) error {
	_, err := commit.History(e, tb.Store, tb.Root, tb.Job, visit)
	if err != nil {
		return &fault.Error{Class: fault.User, Err: fmt.Errorf("log of table %s: %w", fs.URI(tb.Store, tb.Root), err)} // a query is not tried again
	}
	return nil
}

// EachAudited visits the events of audit logs in the order of the files, by the job's clock as far as it is known; lines that several logs have, once.
// Before the first it gives note what is to be known about the logs. Where one is cut, nothing is visited: half an answer would be taken for a whole one.
func EachAudited(o Options, note func(string), visit func(*namenode.Event, *namenode.Report) error) error {
	o.Query.Task = -1
	s, err := Tell(Options{Env: o.Env, Stores: o.Stores, Jobs: o.Jobs, Tables: nil, AuditLogs: o.AuditLogs, Query: o.Query})
	if err != nil || s.Audit == nil {
		return err
	}
	for _, n := range s.Notes {
		note(n)
	}
	for _, r := range s.Audit.Reports {
		if r.Cut != "" {
			return fault.Userf("%s", cut(&r)).WithHint(copyAgain + "; `staunch trace --audit-log` takes the lines that are there")
		}
	}
	doubles := namenode.Doubles{}
	_, rerr := namenode.Read(o.Stores, o.AuditLogs, func(e *namenode.Event) bool {
		if err != nil {
			return false
		}
		if s.Audit.Shared(e) {
			if _, again := doubles.Again(e); again {
				return false
			}
		}
		r := &s.Audit.Reports[e.Log]
		e.Time = e.Time.Add(-r.Clock.Offset)
		err = visit(e, r)
		return false
	})
	if err != nil {
		return err
	}
	return rerr
}
