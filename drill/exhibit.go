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
}

// Untouched says what became of an exhibit during the drill.
type Untouched struct {
	What string `json:"what"`
	// Values is how many were compared.
	Values int `json:"values"`
	// Same: nothing is other than before. Otherwise somebody else was at work, with examples; Ours: names of the drill's own were found.
	Same     bool     `json:"same"`
	Added    int      `json:"added,omitempty"`
	Removed  int      `json:"removed,omitempty"`
	Changed  int      `json:"changed,omitempty"`
	Examples []string `json:"examples,omitempty"`
	Ours     bool     `json:"touched_by_the_drill,omitempty"`
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

// Topic looks at where a source stands; ok is false if it cannot be asked.
func Topic(what string, src connector.Source, ctx connector.Context) (x Exhibit, ok bool, err error) {
	w, ok := src.(connector.Watched)
	if !ok {
		return x, false, nil
	}
	s, err := w.Stand(ctx)
	x = Exhibit{What: what, Values: map[string]string{}}
	for split, o := range s.Ends {
		x.Values["end of "+split] = fmt.Sprint(o)
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

// Against compares with how it was before. ours are texts that only names of the drill have.
func (x Exhibit) Against(before Exhibit, ours ...string) Untouched {
	u := Untouched{What: x.What, Values: len(x.Values)}
	for _, n := range slices.Sorted(maps.Keys(x.Values)) {
		was, had := before.Values[n]
		switch {
		case !had:
			u.Added++
			u.example(n + ": new")
		case was != x.Values[n]:
			u.Changed++
			u.example(n + ": " + was + " -> " + x.Values[n])
		}
		for _, o := range ours {
			u.Ours = u.Ours || !had && strings.Contains(n, o)
		}
	}
	for _, n := range slices.Sorted(maps.Keys(before.Values)) {
		if _, has := x.Values[n]; !has {
			u.Removed++
			u.example(n + ": gone")
		}
	}
	u.Same = u.Added+u.Removed+u.Changed == 0
	return u
}

func (u *Untouched) example(text string) {
	if len(u.Examples) < maxExamples {
		u.Examples = append(u.Examples, text)
	}
}
