package job

import (
	"slices"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/connector"
)

// A checkpoint of the directory-based protocol names folders instead of files (commit/directory.go).

// idsApart is how far the ids behind such a checkpoint are from its own: a request to remove a folder that the version before has sent, and that
// its store carries out late, finds no folder that is written now.
const idsApart = 1000

// behindDirectories reports whether the restored checkpoint names folders, or a table's newest certificate was made from some: the checkpoint itself
// may be lost since (--from-table).
func (a *attempt) behindDirectories() bool {
	if a.base != nil {
		for _, t := range a.base.Tables {
			if len(t.Directories) > 0 {
				return true
			}
		}
	}
	for _, tb := range a.tables {
		st := tb.t.State()
		if c := st.Find(st.Chain.Certificate); c != nil && len(c.FromDirectories) > 0 {
			return true
		}
	}
	return false
}

// positions are the ranges of a certificate that proves none: where each split stood, so that the accounts go on from there.
func positions(r *checkpoint.Restored, promised checkpoint.Table) (out []account.Range) {
	for _, x := range promised.Ranges {
		out = append(out, account.Range{Split: x.Split, Insert: x.Insert, From: x.To, To: x.To})
	}
	if len(out) > 0 {
		return out
	}
	for _, s := range r.Sources {
		for _, sp := range s.Splits {
			out = append(out, account.Range{Split: sp.ID, From: sp.Position, To: sp.Position})
		}
	}
	slices.SortFunc(out, func(a, b account.Range) int {
		switch {
		case a.Split < b.Split:
			return -1
		case a.Split > b.Split:
			return 1
		}
		return 0
	})
	return out
}

// foldersSeen adds the partitions of files that were found in folders to those that are still to be declared complete: the version before may
// have declared them, which does no harm.
func (j *Job) foldersSeen(tb *table, r *checkpoint.Restored, promised checkpoint.Table) {
	if len(promised.Directories) == 0 || tb.sink == nil || tb.sink.PartitionCommit() == nil {
		return
	}
	reads, _ := tb.sink.(connector.PartitionReader)
	for _, c := range tb.t.State().Certificates {
		if c.Checkpoint != r.ID || c.Complete != r.Hash {
			continue
		}
		for i := range c.Files {
			f := &c.Files[i]
			if f.Partition == "" || slices.ContainsFunc(tb.pending, func(p checkpoint.PendingPartition) bool { return p.Partition == f.Partition }) {
				continue
			}
			var values []*string
			ok := reads != nil
			if ok {
				values, ok = reads.PartitionValues(f.Partition)
			}
			if !ok {
				j.log.Warn("a folder is no partition of the table: it is not declared complete", "table", tb.name, "folder", f.Partition)
				continue
			}
			tb.pending = append(tb.pending, checkpoint.PendingPartition{Partition: f.Partition, Values: values, FirstSeen: r.Time.UnixMilli()})
		}
	}
}
