package job

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/commit"
	"staunch/connector"
	"staunch/fault"
)

// standing reads what the tables hold and refuses what is no one state: chains that end at different checkpoints, or at different offsets.
func (j *Job) standing(tables map[string]*table) (map[string]commit.Standing, error) {
	out := map[string]commit.Standing{}
	var ends []string
	var first *commit.Certified
	same := true
	positions := map[string]int64{}
	for _, key := range slices.Sorted(maps.Keys(tables)) {
		tb := tables[key]
		s, err := tb.t.Standing()
		if err != nil {
			return nil, fmt.Errorf("table %s: %w", tb.t.Place(), err)
		}
		out[key] = s
		if s.Newest == nil {
			ends, same = append(ends, tb.t.Place()+" has no output"), false
			continue
		}
		ends = append(ends, fmt.Sprintf("%s ends at checkpoint %d", tb.t.Place(), s.Newest.Checkpoint))
		if first == nil {
			first = s.Newest
		}
		same = same && s.Newest.Complete == first.Complete && s.Newest.Checkpoint == first.Checkpoint
		for _, r := range s.Newest.Ranges {
			at := s.Positions[r.Split]
			if old, ok := positions[r.Split]; ok && old != at && same {
				return nil, fault.Userf("--from-table: the tables stand at different offsets of %s, %d and %d", r.Split, old, at)
			}
			positions[r.Split] = at
		}
	}
	switch {
	case first == nil:
		return nil, fault.Userf("--from-table: no table has output of job %q", j.spec.ID).WithHint("without the option the job begins at its start-up modes")
	case !same:
		return nil, fault.Userf("--from-table: the tables do not end at one checkpoint: %s", strings.Join(ends, "; ")).
			WithHint("go on from a checkpoint that you have (--from-savepoint), or begin anew with --fresh --on-newer-output keep or rewind")
	}
	return out, nil
}

// fromTables makes a checkpoint of what the tables hold. REQUIRES: they are claimed.
func (j *Job) fromTables() (*checkpoint.Restored, error) {
	for _, tb := range j.sortedTables() { // its files are in the certificate
		if _, err := tb.t.FinishNewest(); err != nil {
			return nil, fmt.Errorf("commit what the newest certificate of table %s promises: %w", tb.t.Place(), err)
		}
	}
	all, err := j.standing(j.tables)
	if err != nil {
		return nil, err
	}
	var newest *commit.Certified
	positions := map[string]int64{}
	used := map[string]bool{}
	r := &checkpoint.Restored{Metadata: checkpoint.Metadata{Version: checkpoint.Version, Job: j.spec.ID, Sources: map[string]checkpoint.Source{},
		Tables: map[string]checkpoint.Table{}, Plan: j.spec.Plan, SQL: j.spec.SQL, AccountsClose: j.spec.AccountsClose}}
	for key, s := range all {
		newest = s.Newest
		maps.Copy(positions, s.Positions)
		t := checkpoint.Table{Name: j.tables[key].name, Expect: j.tables[key].t.State().Chain}
		if sink := j.tables[key].sink; sink != nil && sink.PartitionCommit() != nil {
			for _, p := range s.Pending {
				t.Partitions = append(t.Partitions, checkpoint.PendingPartition{Partition: p.Partition, Values: p.Values, FirstSeen: p.FirstSeen, Lost: p.Lost, Due: p.Due})
			}
		}
		r.Tables[key] = t
	}
	r.LogID, r.Epoch, r.ID, r.Time, r.Triggered, r.Final = newest.LogID, newest.Epoch, newest.Checkpoint, newest.Time, newest.Time, newest.Final
	r.Hash = newest.Complete
	for i := range j.spec.Graph.Sources {
		s := &j.spec.Graph.Sources[i]
		src, err := j.sourceAt(&source{Source: s}, positions, used)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.Describe, err)
		}
		if src != nil {
			src.Watermark = newest.Watermark
			r.Sources[s.Name] = *src
		}
	}
	var left []string
	for _, rg := range newest.Ranges {
		if !used[rg.Split] && !slices.Contains(left, rg.Split) {
			left = append(left, rg.Split)
		}
	}
	if len(left) > 0 {
		return nil, fault.Userf("--from-table: the tables were written from %s, which no source of the file has now", splitsText(left)).
			WithHint("read the same topics with the same names, and let a generated source have the parallelism that it had")
	}
	return r, nil
}

// sourceAt makes the state of a source whose splits stand where the tables say; nil if they say nothing of it.
func (j *Job) sourceAt(s *source, positions map[string]int64, used map[string]bool) (_ *checkpoint.Source, err error) {
	ctx := connector.Context{Env: j.env, Log: j.log, Metrics: j.metrics.With("task", s.Name), Job: j.spec.ID, Parallelism: j.spec.Graph.Parallelism,
		Epoch: j.store.Epoch(), Wake: func() {}, NextCheckpoint: func() account.CheckpointID { return 0 }}
	enum, err := s.Source.Source.Enumerate(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, enum.Close()) }()
	all, err := enum.Discover(nil)
	if err != nil {
		return nil, err
	}
	var known []connector.Split
	for _, sp := range all {
		if at, ok := positions[sp.ID]; ok {
			sp.Position = at
			known = append(known, sp)
			used[sp.ID] = true
		}
	}
	if len(known) == 0 {
		j.log.Warn("the tables say nothing of a source: it begins at its start-up mode", "source", s.Describe)
		return nil, nil
	}
	// Splits that came after the newest certificate begin as any that is found while a job runs.
	found, err := enum.Discover(known)
	if err != nil {
		return nil, err
	}
	for _, sp := range found {
		j.log.Warn("the tables know nothing of a split", "source", s.Describe, "split", sp.ID, "begins at", sp.Position)
	}
	state, err := enum.Snapshot()
	if err != nil {
		return nil, err
	}
	return &checkpoint.Source{Enumerator: state, Splits: append(known, found...)}, nil
}
