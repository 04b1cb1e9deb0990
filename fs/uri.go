package fs

// Named is a store that is not the only one of its kind: its paths are told from other stores' by the name before them.
type Named interface {
	// URI gives a path as users write it, with the store's name, in the one spelling that stands for all (`hdfs://ns/a/b`).
	URI(path string) string
}

// URI gives a path so that every Resolver finds the same place by it: with the store's name if it has one. It is what logs and checkpoints
// keep of a path and what messages show.
func URI(f FS, path string) string {
	if n, ok := f.(Named); ok {
		return n.URI(path)
	}
	return path
}
