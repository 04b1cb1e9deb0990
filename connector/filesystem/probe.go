package filesystem

import (
	"errors"
	"fmt"
	"sync"

	"staunch/account"
	"staunch/connector"
	"staunch/env"
	"staunch/fault"
	"staunch/fs"
)

// probeResult says what the probe found.
type probeResult uint8

const (
	probeNot probeResult = iota
	probePassed
	probeOverwrites
)

// probe remembers the result for all writers of a sink.
type probe struct {
	mu   sync.Mutex
	done probeResult
}

func (p *probe) result() probeResult {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.done
}

// Probe writes two small files under unique names into the table's temporary folder and tries to rename one over the other. It finds a store
// that does not answer, permissions, quota, names too long and a temporary folder on another file system before the first row, and a store whose rename
// overwrites. Both files are removed again, by exact name. After one success it does nothing.
func (s *sink) Probe(ctx connector.Context) error {
	if s.probe.result() != probeNot {
		return nil
	}
	found, err := s.try(ctx)
	if err != nil {
		return fmt.Errorf("table %s: %w", s.name, err)
	}
	s.probe.mu.Lock()
	s.probe.done = found
	s.probe.mu.Unlock()
	return nil
}

func (s *sink) try(ctx connector.Context) (probeResult, error) {
	wait, left := waiterOf(ctx), durability{}
	dir := s.root + "/" + temporary
	if err := left.makeFolder(s.store, wait, dir); err != nil {
		return probeNot, classify(err, "make folder", dir)
	}
	if err := s.reaches(s.root); err != nil {
		return probeNot, err
	}
	var names [2]string
	for i := range names {
		var err error
		if names[i], err = s.probeFile(ctx, wait, &left, dir); err != nil {
			return probeNot, err
		}
	}
	if err := left.finish(s.store, wait); err != nil {
		return probeNot, err
	}
	found, err := s.probeRename(wait, names[0], names[1])
	// Each name is this attempt's own, unique, and nothing promises it (PROTOCOL.md 6). One that stays does no harm.
	for _, name := range names {
		_ = s.store.Delete(name)
	}
	return found, err
}

// reaches fails if no file of the temporary folder, which must be there, can be moved into the folder to.
func (s *sink) reaches(to string) error {
	dir := s.root + "/" + temporary
	err := fs.Movable(s.store, dir, to)
	if err == nil {
		return nil
	}
	mount := dir
	if to != s.root {
		mount = to
	}
	return fault.New(fault.User, "files written in %s can never become visible in %s: %w", dir, to, err).WithHint(
		"take away the mount or link at %s, or choose another 'path'", mount)
}

// probeFile writes one probe file.
func (s *sink) probeFile(ctx connector.Context, wait waiter, left *durability, dir string) (string, error) {
	var err error
	for range maxTries {
		var h fs.File
		name := ""
		err = wait.through(func() (err error) {
			name = dir + "/" + account.ProbeName(Job8(ctx.Job), ctx.Epoch, env.RandomHex(ctx.Env, 12))
			h, err = s.store.Create(name)
			return err
		})
		if errors.Is(err, fs.ErrNoSpace) {
			break
		}
		if err != nil {
			continue // perhaps it is there although the answer was lost: another name
		}
		if _, err = h.Write([]byte("staunch\n")); err != nil {
			return "", errors.Join(classify(err, "write", name), h.Close())
		}
		left.files = append(left.files, unsynced{name, h})
		left.folder(dir)
		return name, nil
	}
	return "", classify(err, "create a file in", dir)
}

// probeRename renames a over b. An answer that is neither success nor "exists" is settled by looking: a source that is gone was moved.
func (s *sink) probeRename(wait waiter, a, b string) (probeResult, error) {
	err := wait.through(func() error { return s.store.Rename(a, b) })
	if err == nil {
		return probeOverwrites, nil
	}
	if errors.Is(err, fs.ErrExist) {
		return probePassed, nil
	}
	lookErr := wait.through(func() error { _, err := s.store.Stat(a); return err })
	switch {
	case errors.Is(lookErr, fs.ErrNotExist):
		return probeOverwrites, nil
	case lookErr != nil:
		return probeNot, classify(lookErr, "look at", a)
	case errors.Is(err, fs.ErrRefused), errors.Is(err, fs.ErrUnavailable):
		return probePassed, nil
	}
	return probeNot, fault.New(fault.ClassOf(classify(err, "", "")), "rename %s to %s: %w", a, b, err)
}
