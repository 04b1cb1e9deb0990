package story

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"staunch/account"
	"staunch/commit"
	"staunch/fs"
	"staunch/trace"
)

// Grid shows a checkpoint of one table: what each task wrote to each partition, and what became of it.
type Grid struct {
	Job        string               `json:"job"`
	Table      string               `json:"table"`
	Checkpoint account.CheckpointID `json:"checkpoint"`
	// Epoch is the attempt that made the checkpoint, Certificate the entry of the table's log, 0 if the checkpoint was never completed.
	Epoch       account.Epoch `json:"epoch,omitempty"`
	Certificate int64         `json:"certificate,omitempty"`
	Hash        string        `json:"hash,omitempty"`
	Completed   time.Time     `json:"completed,omitzero"`
	Done        time.Time     `json:"done,omitzero"`
	DoneBy      account.Epoch `json:"done_by,omitempty"`
	Tasks       []int         `json:"tasks"`
	Partitions  []string      `json:"partitions"`
	// Cells by task, then partition, as they are in Tasks and Partitions.
	Cells [][]Cell `json:"cells"`
	// Superseded: a rewind took the checkpoint out.
	Superseded bool   `json:"superseded,omitempty"`
	Text       string `json:"text"`
}

// Cell counts a task's files of one partition. Created are those of a checkpoint without a certificate.
type Cell struct {
	Created int `json:"created,omitempty"`
	Renamed int `json:"renamed,omitempty"`
	Skipped int `json:"skipped,omitempty"`
	Pending int `json:"pending,omitempty"`
	Lost    int `json:"lost,omitempty"`
	Gone    int `json:"gone,omitempty"`
	// Repaired were lost and are written again.
	Repaired int `json:"repaired,omitempty"`
	// Amended were taken out of the table on purpose.
	Amended int `json:"amended,omitempty"`
}

// String is "wrote nothing" for an empty cell.
func (c Cell) String() string {
	out := ""
	for _, x := range []struct {
		n    int
		what string
	}{{c.Lost, "LOST"}, {c.Gone, "GONE"}, {c.Repaired, "repaired"}, {c.Amended, "amended"}, {c.Renamed, "renamed"}, {c.Skipped, "skipped"}, {c.Pending, "pending"}, {c.Created, "created"}} {
		if x.n == 0 {
			continue
		}
		if out != "" {
			out += ", "
		}
		out += x.what
		if x.n > 1 {
			out += fmt.Sprintf(" %d", x.n)
		}
	}
	if out == "" {
		return "wrote nothing"
	}
	return out
}

// grid makes the grid of a certificate.
func (t *teller) grid(tb Table, c *commit.Recorded, files []File) Grid {
	g := Grid{Job: tb.Job, Table: fs.URI(tb.Store, tb.Root), Checkpoint: c.Checkpoint, Epoch: c.Epoch, Certificate: c.N, Hash: account.Short(c.Hash), Completed: c.Time,
		Superseded: c.Superseded > 0}
	g.Text = "being committed"
	if c.Done != nil {
		g.Done, g.DoneBy = c.Done.Time, c.Done.Epoch
		n := c.Done.Counters
		g.Text = fmt.Sprintf("done: created %d = renamed %d + skipped %d + lost %d", n.Created, n.Renamed, n.Skipped, n.Lost)
	}
	if g.Superseded {
		g.Text = "superseded by a rewind"
	}
	cells := map[int]map[string]Cell{}
	for i := range files {
		f := &files[i]
		x := at2(cells, f.Task)[f.Partition]
		switch {
		case f.State == Lost:
			x.Lost++
		case f.State == Gone:
			x.Gone++
		case f.State == Repaired:
			x.Repaired++
		case f.State == Amended:
			x.Amended++
		case f.Verdict == account.Skipped:
			x.Skipped++
		case f.Verdict == "" && f.State != Visible:
			x.Pending++
		default:
			x.Renamed++
		}
		cells[f.Task][f.Partition] = x
	}
	t.tasksOf(cells, tb.Job, c.Checkpoint, c.Epoch)
	g.fill(cells)
	return g
}

func at2(cells map[int]map[string]Cell, task int) map[string]Cell {
	if cells[task] == nil {
		cells[task] = map[string]Cell{}
	}
	return cells[task]
}

// tasksOf adds the tasks that handed over nothing.
func (t *teller) tasksOf(cells map[int]map[string]Cell, job string, id account.CheckpointID, epoch account.Epoch) {
	for i := range t.entries {
		e := &t.entries[i]
		if e.Op == trace.Prepare && e.Checkpoint == id && e.Job == job && (epoch == 0 || e.Epoch == epoch) && (t.Query.Task < 0 || e.Task == t.Query.Task) {
			at2(cells, e.Task)
		}
	}
}

// fill puts cells in order.
func (g *Grid) fill(cells map[int]map[string]Cell) {
	parts := map[string]bool{}
	for _, row := range cells {
		for p := range row {
			parts[p] = true
		}
	}
	g.Tasks, g.Partitions = slices.Sorted(maps.Keys(cells)), slices.Sorted(maps.Keys(parts))
	for _, k := range g.Tasks {
		row := make([]Cell, len(g.Partitions))
		for i, p := range g.Partitions {
			row[i] = cells[k][p]
		}
		g.Cells = append(g.Cells, row)
	}
}

func (t *teller) hasGrid(tb Table) bool {
	return slices.ContainsFunc(t.out.Grids, func(g Grid) bool { return g.Table == fs.URI(tb.Store, tb.Root) && g.Job == tb.Job })
}

// gridOfTrace makes the grid of a checkpoint that the table's log does not know: what its tasks created.
func (t *teller) gridOfTrace(tb Table) Grid {
	g := Grid{Job: tb.Job, Table: fs.URI(tb.Store, tb.Root), Checkpoint: t.Query.Checkpoint}
	cells := map[int]map[string]Cell{}
	for i := range t.entries {
		e := &t.entries[i]
		if e.Op == trace.Create && e.Outcome == trace.OK && e.Checkpoint == t.Query.Checkpoint && e.Task >= 0 && below(bare(e.Path), tb.Root) &&
			(t.Query.Task < 0 || e.Task == t.Query.Task) {
			x := at2(cells, e.Task)[""]
			x.Created++
			cells[e.Task][""] = x
		}
	}
	t.tasksOf(cells, tb.Job, t.Query.Checkpoint, 0)
	g.Text = "not in this table's log: the checkpoint wrote nothing to it, was given up, or is not completed yet"
	if len(cells) == 0 {
		g.Text = "neither this table's log nor the trace knows the checkpoint"
	}
	g.fill(cells)
	return g
}
