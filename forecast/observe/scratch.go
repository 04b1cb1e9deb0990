package observe

import (
	"staunch/fs"
	"staunch/fs/mem"
)

// Scratch resolves paths as Stores does, to a store in memory that stands for the real one: a plan made with it writes nothing.
type Scratch struct{ Stores fs.Resolver }

// Resolve implements fs.Resolver.
func (s Scratch) Resolve(uri string) (fs.FS, string, error) {
	real, path, err := s.Stores.Resolve(uri)
	if err != nil {
		return nil, "", err
	}
	return &scratch{Client: mem.New().Client("sample"), real: real, held: fs.HandleBytes(real)}, path, nil
}

// scratch is a store in memory under the name of a real one, whose open files weigh what those of the real one do.
type scratch struct {
	*mem.Client
	real fs.FS
	held int64
}

// URI implements fs.Named.
func (s *scratch) URI(path string) string { return fs.URI(s.real, path) }

// Create implements fs.FS.
func (s *scratch) Create(path string) (fs.File, error) {
	f, err := s.Client.Create(path)
	if err != nil {
		return nil, err
	}
	return weighed{f, s.held}, nil
}

// weighed is an open file that keeps its name and forgets its bytes: a sample may be larger than memory.
type weighed struct {
	fs.File
	held int64
}

// Write implements fs.File.
func (w weighed) Write(p []byte) (int, error) { return len(p), nil }

// Memory implements fs.Holder.
func (w weighed) Memory() int64 { return w.held }
