package fs

// Pager is an FS that gives a folder's entries a page at a time, so that a folder of millions of files need not be held in memory. Found by type
// assertion; use Each.
type Pager interface {
	// EachEntry calls visit for the entries of a folder, in any order; what moves meanwhile may come twice. It ends with visit's error if that
	// gives one. ErrNotExist if the folder is missing.
	EachEntry(dir string, visit func(Info) error) error
}

// Each calls visit for the entries of a folder of any store: see Pager.
func Each(f FS, dir string, visit func(Info) error) error {
	if p, ok := f.(Pager); ok {
		return p.EachEntry(dir, visit)
	}
	list, err := f.List(dir)
	if err != nil {
		return err
	}
	for _, i := range list {
		if err := visit(i); err != nil {
			return err
		}
	}
	return nil
}
