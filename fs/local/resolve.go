package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"staunch/fault"
	"staunch/fs"
)

// Resolver is the fs.Resolver of plain paths and of `file:`. Other schemes are refused by name.
type Resolver struct {
	FS *FS
	// WorkDir is where relative paths begin; "" is the process's working directory.
	WorkDir string
}

// Resolve implements fs.Resolver.
func (r Resolver) Resolve(uri string) (fs.FS, string, error) {
	path, err := Resolve(r.WorkDir, uri)
	if err != nil {
		return nil, "", err
	}
	return r.FS, path, nil
}

// Resolve gives the absolute path of `file:///x`, `file:/x`, `/x` or a path relative to workDir ("": the process's working directory).
// Symbolic links are resolved as far as the path exists, so that two spellings of one place give one path; the part that does not exist yet
// is taken literally. Nothing is percent-decoded, as in Hadoop's Path. Errors are fault.User, or what the disk said.
func Resolve(workDir, uri string) (string, error) {
	path := uri
	if scheme := fs.Scheme(uri); scheme == "file" {
		var err error
		if path, err = filePath(uri); err != nil {
			return "", err
		}
	} else if scheme != "" {
		return "", fs.NoScheme(uri, "file://")
	}
	if path == "" {
		return "", fault.Userf("empty path")
	}
	if strings.IndexByte(path, 0) >= 0 {
		return "", fault.Userf("path %q holds a NUL byte", uri)
	}
	if !strings.HasPrefix(path, "/") {
		if workDir == "" {
			var err error
			if workDir, err = os.Getwd(); err != nil {
				return "", wrap("find working directory for", path, "", err)
			}
		}
		path = workDir + "/" + path
	}
	return resolveLinks(path)
}

// filePath is the path in a URI of scheme file.
func filePath(uri string) (string, error) {
	rest := uri[len("file:"):]
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		host, path, slash := strings.Cut(after, "/")
		if host != "" && host != "localhost" {
			return "", fault.Userf("path %q names the host %q; only this machine's files can be reached so", uri, host).
				WithHint("an absolute path is written with three slashes: file:///%s", after)
		}
		if !slash {
			return "", fault.Userf("path %q has no path", uri)
		}
		return "/" + path, nil
	}
	if !strings.HasPrefix(rest, "/") {
		return "", fault.Userf("path %q is relative; after file: it must begin with a slash", uri).WithHint("write %s, or file:///...", rest)
	}
	return rest, nil
}

// maxLinks is the number of symbolic links after which a path is taken for a circle (the kernel's own limit is 40).
const maxLinks = 40

// resolveLinks walks an absolute path name by name.
func resolveLinks(path string) (string, error) {
	done, rest, missing := "/", path, false
	for links := 0; rest != ""; {
		var name string
		name, rest, _ = strings.Cut(rest, "/")
		switch name {
		case "", ".":
			continue
		case "..":
			done, missing = filepath.Dir(done), false
			continue
		}
		next := filepath.Join(done, name)
		if missing {
			done = next
			continue
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, syscall.ENOTDIR):
			return "", fault.Userf("path %q: %s is there and is no folder", path, done)
		case errors.Is(err, os.ErrNotExist):
			missing = true
		case err != nil:
			return "", wrap("resolve", next, "", err)
		case info.Mode()&os.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", fault.Userf("path %q: too many symbolic links, at %s", path, next)
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", wrap("resolve", next, "", err)
			}
			if strings.HasPrefix(target, "/") {
				done = "/"
			}
			rest = target + "/" + rest
			continue
		}
		done = next
	}
	return done, nil
}
