package drill

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"staunch/connector"
	"staunch/fs"
)

// Exhibit is something of the user's that a drill must leave alone, as it was seen at one time.
type Exhibit struct {
	// What it is, for people.
	What string
	// Values by name: a file's length and time, a partition's end, a group's offset.
	Values map[string]string

	// kind says what it is. For a table: its URI and the name of its success files; for checkpoints: the job; for a topic: the jobs that read it.
	kind, uri, success, job string
	readers                 []string
}

// Untouched says what became of an exhibit during the drill.
type Untouched struct {
	What string `json:"what"`
	// Values is how many were compared.
	Values int `json:"values"`
	// Same: nothing is other than before. Otherwise there are examples; Ours: names of the drill's own were found.
	Same    bool `json:"same"`
	Added   int  `json:"added,omitempty"`
	Removed int  `json:"removed,omitempty"`
	Changed int  `json:"changed,omitempty"`
	// Unexplained are those of Added, Removed and Changed that no job explains whose log went on meanwhile: by whom they are is not known. Harmed
	// are those among them that were there before: Removed and Changed.
	Unexplained int      `json:"unexplained,omitempty"`
	Harmed      int      `json:"unexplained_removed_or_changed,omitempty"`
	Examples    []string `json:"examples,omitempty"`
	Ours        bool     `json:"touched_by_the_drill,omitempty"`
}

// Bad reports whether the drill touched it, or somebody of whom nothing is known changed what was there.
func (u *Untouched) Bad() bool { return u.Ours || u.Harmed > 0 }

// TreeOf looks at all names of a table.
func TreeOf(ctx context.Context, stores fs.Resolver, t Table) (Exhibit, error) {
	x, err := Tree(ctx, "table "+t.Name+" ("+t.URI+")", stores, t.URI)
	x.kind, x.uri, x.success = ofTable, t.URI, t.Success
	return x, err
}

// CheckpointsOf looks at all names of a job's checkpoints, in the folder with this URI.
func CheckpointsOf(ctx context.Context, stores fs.Resolver, job, uri string) (Exhibit, error) {
	x, err := Tree(ctx, "checkpoints of job "+job+" ("+uri+")", stores, uri)
	x.kind, x.job = ofCheckpoints, job
	return x, err
}

// Tree looks at all names below a folder. A folder that is not there has none.
func Tree(ctx context.Context, what string, stores fs.Resolver, uri string) (Exhibit, error) {
	x := Exhibit{What: what, Values: map[string]string{}}
	f, p, err := stores.Resolve(uri)
	if err != nil {
		return x, err
	}
	return x, x.tree(ctx, f, p, "")
}

func (x *Exhibit) tree(ctx context.Context, f fs.FS, dir, name string) error {
	infos, err := f.List(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return ctx.Err()
	}
	if err != nil {
		return err
	}
	for _, i := range infos {
		n := path.Join(name, i.Name)
		if i.Dir && !i.Symlink {
			x.Values[n+"/"] = "folder"
			if err := x.tree(ctx, f, path.Join(dir, i.Name), n); err != nil {
				return err
			}
			continue
		}
		x.Values[n] = fmt.Sprintf("%d bytes, %s", i.Size, i.ModTime.UTC().Format("2006-01-02 15:04:05.000"))
	}
	return ctx.Err()
}

// endOf begins the names of the ends of splits.
const endOf = "end of "

// Topic looks at where a source of these jobs stands; ok is false if it cannot be asked.
func Topic(what string, src connector.Source, ctx connector.Context, readers ...string) (x Exhibit, ok bool, err error) {
	w, ok := src.(connector.Watched)
	if !ok {
		return x, false, nil
	}
	s, err := w.Stand(ctx)
	x = Exhibit{What: what, Values: map[string]string{}, kind: ofTopic, readers: readers}
	for split, o := range s.Ends {
		x.Values[endOf+split] = fmt.Sprint(o)
	}
	if s.Group != "" {
		x.What += ", group " + s.Group
	}
	for split, o := range s.Committed {
		x.Values["offset of group "+s.Group+" in "+split] = fmt.Sprint(o)
	}
	return x, true, err
}

// maxExamples bounds what is told of one exhibit.
const maxExamples = 5

// Against compares with how it was before. ours are texts that only names of the drill have; others explain changes, nil: nothing does.
func (x Exhibit) Against(before Exhibit, others *Others, ours ...string) Untouched {
	u := Untouched{What: x.What, Values: len(x.Values)}
	names := maps.Clone(before.Values)
	maps.Copy(names, x.Values)
	var known []string
	for _, n := range slices.Sorted(maps.Keys(names)) {
		was, had := before.Values[n]
		is, has := x.Values[n]
		text := n + ": " + was + " -> " + is
		switch {
		case !had:
			u.Added++
			text = n + ": new"
		case !has:
			u.Removed++
			text = n + ": gone"
		case was != is:
			u.Changed++
		default:
			continue
		}
		for _, o := range ours {
			u.Ours = u.Ours || !had && strings.Contains(n, o)
		}
		if others.explains(&x, n, was, is) {
			known = append(known, text)
			continue
		}
		u.Unexplained++
		if had {
			u.Harmed++
		}
		u.example(text)
	}
	for _, text := range known { // behind what is not explained
		u.example(text)
	}
	u.Same = u.Added+u.Removed+u.Changed == 0
	return u
}

func (u *Untouched) example(text string) {
	if len(u.Examples) < maxExamples {
		u.Examples = append(u.Examples, text)
	}
}
