package clean

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"staunch/commit"
)

// Unfinished: its rewind is under way, or none of this job's log.
const Unfinished Reason = "of a rewind that is not finished"

// TakenBack: a rewind took it out of the table, and it was not asked for.
const TakenBack Reason = "taken out by a rewind; --superseded removes it"

// supersededSuffix ends the names of files that a rewind took out: <name>[.pending][.<k>].superseded.
var supersededSuffix = regexp.MustCompile(`(\.pending)?(\.[2-9][0-9]*)?\.superseded$`)

// JudgeSuperseded says which of the files that rewinds took out may go: those, by exact name, of rewinds that were carried out so long ago. Their
// place is of no other use: the entry's number names the folder and is not given again, nothing is moved there any more, and no state leads there.
// l is everything below the table's folder of such files, each folder before what it holds.
func JudgeSuperseded(root string, l []Found, done []commit.TakenOut, now time.Time, age time.Duration) Plan {
	top := path.Join(root, commit.SupersededDir)
	var p Plan
	var kept []string
	keep := func(f Found, why Reason) {
		p.Left = append(p.Left, Left{f, why})
		kept = append(kept, f.Path)
	}
	for _, f := range l {
		if f.Dir && !f.Symlink {
			continue
		}
		number, rel, _ := strings.Cut(strings.TrimPrefix(f.Path, top+"/"), "/")
		n, ok := numbered(number, "")
		i := slices.IndexFunc(done, func(t commit.TakenOut) bool { return t.N == n })
		suffix := supersededSuffix.FindString(rel)
		switch {
		case !ok || f.Symlink || suffix == "":
			keep(f, Foreign)
		case i < 0:
			keep(f, Unfinished)
		case !done[i].Files[strings.TrimSuffix(rel, suffix)]:
			keep(f, Foreign)
		case now.Sub(done[i].Time) < age:
			keep(f, Young)
		default:
			p.Remove = append(p.Remove, Removal{f, Superseded})
		}
	}
	for _, f := range slices.Backward(l) { // the deepest first
		number, _, _ := strings.Cut(strings.TrimPrefix(f.Path, top+"/"), "/")
		n, _ := numbered(number, "")
		over := slices.ContainsFunc(done, func(t commit.TakenOut) bool { return t.N == n && now.Sub(t.Time) >= age })
		holds := slices.ContainsFunc(kept, func(k string) bool { return strings.HasPrefix(k, f.Path+"/") })
		if f.Dir && !f.Symlink && over && !holds {
			p.Remove = append(p.Remove, Removal{f, Folder})
		}
	}
	return p
}

// superseded cleans a table of what rewinds took out, or only counts it. list was made before the log is read.
func (c *cleaner) superseded(t Table, list []Found, now time.Time, p *Place) error {
	if len(list) == 0 {
		return nil
	}
	if !c.opt.Superseded {
		for _, f := range list {
			if !f.Dir {
				p.left(Left{f, TakenBack})
			}
		}
		return nil
	}
	done, err := commit.ReadTakenOut(c.env, t.Store, t.Root, c.job.ID)
	if err != nil {
		return err
	}
	return c.carryOut(t.Store, JudgeSuperseded(t.Root, list, done, now, c.opt.OlderThan), p)
}
