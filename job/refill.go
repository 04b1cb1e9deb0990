package job

import (
	"fmt"

	"staunch/commit"
	"staunch/fault"
)

// refilled takes note of partitions whose lost files are there again, written by a repair or put back: they may be declared complete again. It is
// asked at a start only, behind what was promised: a partition that has waited for a person can wait for that.
func (j *Job) refilled() error {
	for _, tb := range j.sortedTables() {
		waits := false
		for _, p := range tb.pending {
			waits = waits || p.Lost
		}
		if !waits || tb.sink == nil {
			continue
		}
		lost, err := commit.OpenRepair(j.env, tb.sink.Store(), tb.t.Root(), j.spec.ID, j.spec.Variant.Commit, j.log).Lost()
		if fault.ClassOf(err) == fault.Damage { // the audit's matter: such a partition is not declared
			j.log.Warn("which files of the table are lost cannot be read; its partitions with a lost file are not declared complete", "table", tb.name, "error", err)
			continue
		}
		if err != nil {
			return fmt.Errorf("table %s: %w", tb.t.Place(), err)
		}
		hole := map[string]bool{}
		for _, f := range lost {
			hole[f.Partition] = true
		}
		for i := range tb.pending {
			if p := &tb.pending[i]; p.Lost && !hole[p.Partition] {
				p.Lost = false
				j.log.Info("the lost files of a partition are there again: it is declared complete when it is due", "table", tb.name, "partition", p.Partition)
			}
		}
	}
	return nil
}
