package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"staunch/drill"
	"staunch/fault"
	"staunch/job"
)

// The variables by which this test binary is told to be one process of a job that is drilled.
const drilledControl, drilledLife, drilledRule = "DRILLED_CONTROL", "DRILLED_LIFE", "DRILLED_RULE"

func TestMain(m *testing.M) {
	if os.Getenv(drilledControl) == "" {
		os.Exit(m.Run())
	}
	os.Exit(report(drilledWithout(os.Getenv(drilledRule))))
}

// rules are rules of the protocol, each with what takes it away.
var rules = map[string]func(*job.Variant){
	"all":             func(*job.Variant) {},
	"missing-is-done": func(v *job.Variant) { v.Commit.File.MissingIsDone = true },
	"lost-goes-on":    func(v *job.Variant) { v.Commit.LostGoesOn = true; v.Commit.File.LookOnce = true },
	"copy":            func(v *job.Variant) { v.Commit.Copy = true },
	"list-folder":     func(v *job.Variant) { v.Commit.ListFolder = true },
	"older":           func(v *job.Variant) { v.Store.Older, v.Commit.NoChain = true, true },
}

// drilledWithout is one process of a job without a rule.
func drilledWithout(rule string) error {
	return drillProcess(os.Getenv(drilledControl), os.Getenv(drilledLife), func(s *job.Spec) { rules[rule](&s.Variant) })
}

// ruleless is a Subject that lacks a rule.
type ruleless string

// Live implements drill.Subject.
func (r ruleless) Live(ctx context.Context, o drill.Orders, life int) (drill.End, error) {
	log, err := os.OpenFile(drill.LogFile(o), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return drill.End{}, err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(os.Environ(), drilledControl+"="+o.Control, fmt.Sprintf("%s=%d", drilledLife, life), drilledRule+"="+string(r))
	cmd.Stdout, cmd.Stderr = log, log
	err = cmd.Run()
	if e, ok := o.Told(); ok {
		return e, nil
	}
	if st, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && st.Signaled() && ctx.Err() == nil {
		return drill.End{Killed: true}, nil
	}
	return drill.End{Class: fault.Bug.String(), Error: fmt.Sprint(err)}, ctx.Err()
}

const ruleSQL = `CREATE TABLE numbers (n BIGINT, k INT) WITH ('connector' = 'datagen', 'fields.n.kind' = 'sequence', 'fields.n.start' = '1', 'fields.n.end' = '1000',
  'fields.k.min' = '1', 'fields.k.max' = '2');
CREATE TABLE files (n BIGINT, k INT) PARTITIONED BY (k) WITH ('connector' = 'filesystem', 'path' = 'DIR/files', 'format' = 'parquet',
  'sink.partition-commit.policy.kind' = 'success-file');
INSERT INTO files SELECT n, k FROM numbers;
`

// TestDrillFindsMissingRules: the program itself, without one rule of its protocol, does not pass a drill of the steps that the rule is about.
func TestDrillFindsMissingRules(t *testing.T) {
	for _, c := range []struct {
		rule, steps string
		faults      []drill.Fault
		want        []drill.Verdict
	}{
		{"all", "certificate", []drill.Fault{drill.KillAfter, drill.Again}, []drill.Verdict{drill.Held}},
		{"all", "rename pending file", []drill.Fault{drill.Taken, drill.FolderTaken}, []drill.Verdict{drill.Named}},
		{"missing-is-done", "rename pending file", []drill.Fault{drill.Taken}, []drill.Verdict{drill.Lost}},
		{"lost-goes-on", "rename pending file", []drill.Fault{drill.Taken}, []drill.Verdict{drill.Lost}},
		{"copy", "write data file", []drill.Fault{drill.KillAfter}, []drill.Verdict{drill.Stopped}}, // at a target of another length
		{"list-folder", "close pending file", []drill.Fault{drill.KillAfter}, []drill.Verdict{drill.Doubled}},
		{"older", "append done", []drill.Fault{drill.KillAfter}, []drill.Verdict{drill.Doubled}},
	} {
		t.Run(c.rule, func(t *testing.T) {
			t.Parallel()
			dir, err := filepath.EvalSymlinks(t.TempDir())
			if err != nil {
				t.Fatal(err)
			}
			file := filepath.Join(dir, "numbers.sql")
			if err := os.WriteFile(file, []byte(strings.ReplaceAll(ruleSQL, "DIR", dir)), 0o600); err != nil {
				t.Fatal(err)
			}
			s := &drillSetup{drillFlags: &drillFlags{records: 500}, out: &firm{out: io.Discard}}
			s.logFormat = "text"
			if err := s.plan(file); err != nil {
				t.Fatal(err)
			}
			d := &drill.Drill{Subject: ruleless(c.rule), Stores: s.stores(), Scratch: s.scratch, Control: t.TempDir(), Tables: s.tables, Job: s.job, Audit: true,
				Faults: c.faults, Only: func(k drill.Key) bool { return strings.Contains(k.String(), c.steps) }, Parallel: 2}
			rep, err := d.Do(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			n, found := rep.Count(), 0
			for _, v := range c.want {
				found += n[v]
			}
			t.Log(n)
			if found == 0 || c.rule == "all" && (rep.Bad() > 0 || n[drill.NotReached] > 0) {
				for _, r := range rep.Runs {
					t.Errorf("%s, %s: %s %+v %s", r.Step, r.Fault, r.Verdict, r.Problems, r.Error)
				}
			}
		})
	}
}
