package hdfs

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"staunch/fault"
	"staunch/fs"
	"staunch/fs/hdfs/conf"
	"staunch/fs/hdfs/datanode"
	"staunch/fs/hdfs/rpc"
	"staunch/fs/hdfs/wire"
)

// Options of a Client. Zero values mean the defaults of packages rpc and datanode.
type Options struct {
	RPC  rpc.Options
	Data datanode.Options
}

// Client is one HDFS. It may be used from any goroutine.
type Client struct {
	name    string
	cluster conf.Cluster
	rpc     *rpc.Client
	data    datanode.Options
	lease   lease

	mu sync.Mutex
	// defaults are the NameNode's, asked for once.
	defaults *defaults
}

// New makes a client of a cluster. Nothing is connected before the first call.
func New(k conf.Cluster, opt Options) *Client {
	opt.RPC.User = k.User
	nodes := make([]rpc.Node, len(k.Nodes))
	for i, n := range k.Nodes {
		nodes[i] = rpc.Node{ID: n.ID, Addr: n.Addr}
	}
	var id [12]byte
	if _, err := rand.Read(id[:]); err != nil {
		panic("hdfs: the system gives no randomness: " + err.Error())
	}
	c := &Client{name: k.Name, cluster: k, rpc: rpc.New(nodes, opt.RPC), data: opt.Data}
	// The lease's holder: no other process ever has this name.
	c.data.Client = "staunch-" + hex.EncodeToString(id[:])
	c.data.UseHostname = k.UseHostname
	c.data.Suspects = cmp.Or(c.data.Suspects, &datanode.Suspects{})
	if c.data.Answer == 0 && k.SocketTimeout > 0 {
		c.data.Answer = time.Duration(k.SocketTimeout) * time.Millisecond
	}
	c.lease.init(c)
	return c
}

// Close ends the client's connections. Files that are open stay open on the NameNode.
func (c *Client) Close() {
	c.lease.close()
	c.rpc.Close()
}

// URI gives a path of this store with the store's name before it (see fs.URI).
func (c *Client) URI(p string) string { return c.name + p }

// HandleBytes implements fs.Buffering: the packet that is being filled, and those that are on their way.
func (c *Client) HandleBytes() int64 { return datanode.PacketBytes }

// String names the store and its NameNodes.
func (c *Client) String() string { return c.name + " (" + c.rpc.Nodes() + ")" }

// settings gives the NameNode's defaults, asked for at the first file.
func (c *Client) settings() (defaults, error) {
	c.mu.Lock()
	have := c.defaults
	c.mu.Unlock()
	if have != nil {
		return *have, nil
	}
	b, err := c.rpc.Call("getServerDefaults", nil)
	if err != nil {
		return defaults{}, err
	}
	d, err := parseDefaults(b)
	if err != nil {
		return d, fmt.Errorf("getServerDefaults: %w", err)
	}
	if d.encrypted {
		return d, fault.Userf("%s wants data on the way to DataNodes to be encrypted (dfs.encrypt.data.transfer), which is not supported yet", c.name).
			WithHint("use a cluster without it; mounting the encrypted one on this machine (NFS gateway, FUSE) makes it a local path")
	}
	c.mu.Lock()
	c.defaults = &d
	c.mu.Unlock()
	return d, nil
}

// writeOptions are what a new file has: what the configuration says, else the NameNode.
func (c *Client) writeOptions(d defaults) (o datanode.Options, replication int) {
	o = c.data
	if o.BlockSize == 0 {
		o.BlockSize = uint64(max(c.cluster.BlockSize, 0))
	}
	if o.BlockSize == 0 {
		o.BlockSize = uint64(max(d.blockSize, 0))
	}
	if o.ChunkSize == 0 {
		o.ChunkSize = c.cluster.BytesPerChecksum
	}
	if o.ChunkSize == 0 {
		o.ChunkSize = d.bytesPerChecksum
	}
	kind := c.cluster.Checksum
	if kind == "" {
		kind = [...]string{"NULL", "CRC32", "CRC32C"}[min(max(d.checksum, 0), 2)]
	}
	switch kind {
	case "NULL":
		o.NoChecksum = true
	case "CRC32":
		o.Checksum = datanode.ChecksumCRC32
	case "CRC32C":
		o.Checksum = datanode.ChecksumCRC32C
	}
	if replication = c.cluster.Replication; replication == 0 {
		replication = max(d.replication, 1)
	}
	return o, replication
}

// Values of CreateFlagProto. A folder with an erasure coding policy gets an ordinary, replicated file by the second.
const (
	flagCreate          = 0x01
	flagShouldReplicate = 0x80
)

const fileMode, folderMode = 0o666, 0o777

// Create implements fs.FS.
func (c *Client) Create(p string) (fs.File, error) {
	d, err := c.settings()
	if err != nil {
		return nil, c.errorOf("create", p, "", err)
	}
	o, replication := c.writeOptions(d)
	m := message(nil).str(1, p).perm(2, fileMode&^c.cluster.Umask).str(3, c.data.Client).num(4, flagCreate|flagShouldReplicate).flag(5, false).
		num(6, uint64(replication)).num(7, o.BlockSize).perm(9, fileMode)
	// The lease is renewed before it is taken: no file is ever open without.
	c.lease.hold()
	f, err := c.create(p, m, o)
	if err != nil {
		c.lease.release()
		return nil, c.errorOf("create", p, "", err)
	}
	return f, nil
}

func (c *Client) create(p string, m message, o datanode.Options) (fs.File, error) {
	b, err := c.rpc.Call("create", m)
	if err != nil {
		return nil, err
	}
	f, found, err := one(b, 1)
	if err == nil && !found {
		err = fmt.Errorf("create: the NameNode's answer does not describe the file (Hadoop 2.1 or newer is needed)")
	}
	if err != nil {
		return nil, err
	}
	s, err := parseStatus(f.Bytes)
	if err != nil {
		return nil, fmt.Errorf("create: the NameNode's answer: %w", err)
	}
	return c.newFile(p, s.id, o)
}

// Rename implements fs.FS.
func (c *Client) Rename(src, dst string) error {
	_, err := c.rpc.Call("rename2", message(nil).str(1, src).str(2, dst).flag(3, false))
	return c.errorOf("rename", src, dst, err)
}

// Stat implements fs.FS. The size of a file that is being written is what the NameNode knows.
func (c *Client) Stat(p string) (fs.Info, error) { return c.stat("stat", p) }

func (c *Client) stat(op, p string) (fs.Info, error) {
	b, err := c.rpc.Call("getFileInfo", message(nil).str(1, p))
	if err != nil {
		return fs.Info{}, c.errorOf(op, p, "", err)
	}
	f, found, err := one(b, 1)
	if err != nil {
		return fs.Info{}, c.errorOf(op, p, "", err)
	}
	if !found {
		return fs.Info{}, c.answered(op, p, fs.ErrNotExist, "")
	}
	s, err := parseStatus(f.Bytes)
	s.info.Name = path.Base(p)
	return s.info, c.errorOf(op, p, "", err)
}

// List implements fs.FS. It is not one moment's: what changes meanwhile may be in it or not; what does not change is in it once.
func (c *Client) List(dir string) ([]fs.Info, error) {
	list := []fs.Info{}
	err := c.EachEntry(dir, func(i fs.Info) error {
		list = append(list, i)
		return nil
	})
	if err != nil {
		return nil, err
	}
	slices.SortFunc(list, func(a, b fs.Info) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

// EachEntry implements fs.Pager: one call to the NameNode a page (dfs.ls.limit, 1,000 entries).
func (c *Client) EachEntry(dir string, visit func(fs.Info) error) error {
	for after := []byte{}; ; {
		page, left, err := c.page(dir, after)
		if err != nil {
			return err
		}
		for _, i := range page {
			if err := visit(i); err != nil {
				return err
			}
		}
		if left == 0 || len(page) == 0 {
			return nil
		}
		after = []byte(page[len(page)-1].Name)
	}
}

// page asks for the entries of a folder behind a name, and how many are left.
func (c *Client) page(dir string, after []byte) (page []fs.Info, left uint64, err error) {
	b, err := c.rpc.Call("getListing", message(nil).str(1, dir).bytes(2, after).flag(3, false))
	if err != nil {
		return nil, 0, c.errorOf("list", dir, "", err)
	}
	f, found, err := one(b, 1)
	if err != nil {
		return nil, 0, c.errorOf("list", dir, "", err)
	}
	if !found {
		return nil, 0, c.answered("list", dir, fs.ErrNotExist, "")
	}
	page, left, err = parsePage(f.Bytes)
	if err != nil {
		return nil, 0, c.errorOf("list", dir, "", err)
	}
	if len(page) == 1 && page[0].Name == "" { // a file's listing is itself
		return nil, 0, c.answered("list", dir, fs.ErrNotExist, "it is a file")
	}
	return page, left, nil
}

// parsePage reads DirectoryListingProto. The NameNode sorts names by their bytes, which it takes for signed numbers.
func parsePage(b []byte) (page []fs.Info, left uint64, err error) {
	err = wire.Fields(b, func(f wire.Field) error {
		switch f.Num {
		case 1:
			s, err := parseStatus(f.Bytes)
			page = append(page, s.info)
			return err
		case 2:
			left = f.Int
		}
		return nil
	})
	return page, left, err
}

// MkdirAll implements fs.FS. fs.ErrExist if something on the way is there and is no folder.
func (c *Client) MkdirAll(dir string) error {
	b, err := c.rpc.Call("mkdirs", message(nil).str(1, dir).perm(2, folderMode&^c.cluster.Umask).flag(3, true).perm(4, folderMode))
	if err != nil {
		return c.errorOf("make folder", dir, "", err)
	}
	ok, err := yes(b)
	if err == nil && !ok {
		return c.answered("make folder", dir, fs.ErrRefused, "")
	}
	return c.errorOf("make folder", dir, "", err)
}

// yes reads an answer that is one bool.
func yes(b []byte) (bool, error) {
	f, found, err := one(b, 1)
	if err == nil && (!found || f.Type != protowire.VarintType) {
		err = errors.New("the NameNode's answer is neither yes nor no")
	}
	return f.Int != 0, err
}

// Delete implements fs.FS. It never removes a folder that was there when it looked (see the package's text).
func (c *Client) Delete(p string) error {
	i, err := c.stat("delete", p)
	if err != nil {
		return err
	}
	if i.Dir {
		return c.answered("delete", p, nil, "it is a folder")
	}
	return c.remove("delete", p)
}

// DeleteDir implements fs.FS. It never removes a file that was there when it looked (see the package's text).
func (c *Client) DeleteDir(dir string) error {
	i, err := c.stat("delete folder", dir)
	if err != nil {
		return err
	}
	if !i.Dir {
		return c.answered("delete folder", dir, nil, "it is a file")
	}
	return c.remove("delete folder", dir)
}

func (c *Client) remove(op, p string) error {
	b, err := c.rpc.Call("delete", message(nil).str(1, p).flag(2, false))
	if err != nil {
		return c.errorOf(op, p, "", err)
	}
	ok, err := yes(b)
	if err == nil && !ok {
		return c.answered(op, p, fs.ErrNotExist, "")
	}
	return c.errorOf(op, p, "", err)
}

// SyncDir implements fs.FS: the NameNode has journalled what it answered, so it only looks that the folder is there.
func (c *Client) SyncDir(dir string) error {
	i, err := c.stat("sync folder", dir)
	if err == nil && !i.Dir {
		return c.answered("sync folder", dir, fs.ErrNotExist, "it is a file")
	}
	return err
}

// RecoverLease closes a file that another process has left open, at the length that its DataNodes agree on. False: that is under way, ask again.
func (c *Client) RecoverLease(p string) (closed bool, err error) {
	b, err := c.rpc.Call("recoverLease", message(nil).str(1, p).str(2, c.data.Client))
	if err == nil {
		closed, err = yes(b)
	}
	return closed, c.errorOf("recover lease of", p, "", err)
}

// locator is datanode.Locator of one path.
type locator struct {
	c    *Client
	path string
}

// Locate implements datanode.Locator.
func (l locator) Locate() (datanode.File, error) {
	b, err := l.c.rpc.Call("getBlockLocations", message(nil).str(1, l.path).num(2, 0).num(3, math.MaxInt64))
	if err != nil {
		return datanode.File{}, l.c.errorOf("open", l.path, "", err)
	}
	f, found, err := one(b, 1)
	if err == nil && !found {
		return datanode.File{}, l.c.answered("open", l.path, fs.ErrNotExist, "")
	}
	var out datanode.File
	if err == nil {
		out, err = datanode.ParseFile(f.Bytes)
	}
	return out, l.c.errorOf("open", l.path, "", err)
}
