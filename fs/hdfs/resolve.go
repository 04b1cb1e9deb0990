package hdfs

import (
	"path"
	"strings"
	"sync"

	"staunch/fault"
	"staunch/fs"
	"staunch/fs/hdfs/conf"
)

// Resolver is the fs.Resolver of `hdfs:`. All paths of one cluster share one Client. The zero value reads the configuration that HADOOP_CONF_DIR
// names, at the first path.
type Resolver struct {
	// Load reads the configuration; nil: conf.Environment.
	Load func() (*conf.Conf, error)
	// Options are for new clients.
	Options Options

	mu      sync.Mutex
	conf    *conf.Conf
	clients map[string]*Client
}

// Resolve implements fs.Resolver. The path is cleaned; nothing in it is percent-decoded, as in Hadoop's Path. HDFS's symbolic links, which are
// switched off in all its releases, are not followed.
func (r *Resolver) Resolve(uri string) (fs.FS, string, error) {
	authority, p, err := conf.Authority(uri)
	if err != nil {
		return nil, "", err
	}
	if strings.IndexByte(p, 0) >= 0 {
		return nil, "", fault.Userf("path %q holds a NUL byte", uri)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.conf == nil {
		load := r.Load
		if load == nil {
			load = conf.Environment
		}
		c, err := load()
		if err != nil {
			return nil, "", fault.New(fault.ClassOf(err), "path %q: %w", uri, err)
		}
		r.conf = c
	}
	k, err := r.conf.Cluster(authority)
	if err != nil {
		return nil, "", fault.New(fault.ClassOf(err), "path %q: %w", uri, err)
	}
	c := r.clients[k.Name]
	if c == nil {
		if r.clients == nil {
			r.clients = map[string]*Client{}
		}
		c = New(k, r.Options)
		r.clients[k.Name] = c
	}
	return c, path.Clean(p), nil
}

// Close closes all clients.
func (r *Resolver) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.clients {
		c.Close()
	}
	r.clients = nil
}
