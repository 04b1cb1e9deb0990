package hdfs

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"staunch/fs"
	"staunch/fs/hdfs/datanode"
	"staunch/fs/hdfs/rpc"
)

// inode is one open file as its writer sees the NameNode: datanode.Namespace. It is named by its number, so that the file may be renamed while it
// is written; the path is for errors.
type inode struct {
	c    *Client
	path string
	id   uint64
}

// AddBlock implements datanode.Namespace.
func (n *inode) AddBlock(previous *datanode.Block, exclude []datanode.Node) (datanode.Located, error) {
	m := message(nil).str(1, n.path).str(2, n.c.data.Client)
	if previous != nil {
		m = m.block(3, *previous)
	}
	for _, x := range exclude {
		m = m.bytes(4, x.Raw)
	}
	m = m.num(5, n.id)
	var l datanode.Located
	b, err := n.patient("addBlock", m)
	if err == nil {
		l, err = located(b)
	}
	return l, n.c.errorOf("write", n.path, "", err)
}

const (
	firstPause = 100 * time.Millisecond
	maxPause   = 3 * time.Second
	patience   = 30 * time.Second
)

// patient repeats a call while the block before is not on enough DataNodes yet.
func (n *inode) patient(method string, m message) ([]byte, error) {
	end, pause := time.Now().Add(patience), firstPause
	for {
		b, err := n.c.rpc.Call(method, m)
		var r *rpc.RemoteError
		if err == nil || !errors.As(err, &r) || r.Short() != "NotReplicatedYetException" || time.Now().After(end) {
			return b, err
		}
		time.Sleep(pause)
		pause = min(2*pause, maxPause)
	}
}

// located reads an answer that is one LocatedBlockProto.
func located(b []byte) (datanode.Located, error) {
	f, found, err := one(b, 1)
	if err == nil && !found {
		err = errors.New("the NameNode's answer names no block")
	}
	if err != nil {
		return datanode.Located{}, err
	}
	return datanode.ParseLocated(f.Bytes)
}

// AbandonBlock implements datanode.Namespace.
func (n *inode) AbandonBlock(b datanode.Block) error {
	_, err := n.c.rpc.Call("abandonBlock", message(nil).block(1, b).str(2, n.path).str(3, n.c.data.Client).num(4, n.id))
	return n.c.errorOf("write", n.path, "", err)
}

// UpdateBlockForPipeline implements datanode.Namespace.
func (n *inode) UpdateBlockForPipeline(b datanode.Block) (datanode.Located, error) {
	answer, err := n.c.rpc.Call("updateBlockForPipeline", message(nil).block(1, b).str(2, n.c.data.Client))
	var l datanode.Located
	if err == nil {
		l, err = located(answer)
	}
	return l, n.c.errorOf("write", n.path, "", err)
}

// UpdatePipeline implements datanode.Namespace.
func (n *inode) UpdatePipeline(old, fresh datanode.Block, nodes []datanode.Node) error {
	m := message(nil).str(1, n.c.data.Client).block(2, old).block(3, fresh)
	for _, x := range nodes {
		id, found, err := one(x.Raw, 1)
		if err == nil && !found {
			err = fmt.Errorf("DataNode %s without an identity", x.Addr())
		}
		if err != nil {
			return n.c.errorOf("write", n.path, "", err)
		}
		m = m.bytes(4, id.Bytes)
	}
	for _, x := range nodes {
		m = m.str(5, x.StorageID)
	}
	_, err := n.c.rpc.Call("updatePipeline", m)
	return n.c.errorOf("write", n.path, "", err)
}

// Complete implements datanode.Namespace.
func (n *inode) Complete(last *datanode.Block) (bool, error) {
	m := message(nil).str(1, n.path).str(2, n.c.data.Client)
	if last != nil {
		m = m.block(3, *last)
	}
	b, err := n.c.rpc.Call("complete", m.num(4, n.id))
	done := false
	if err == nil {
		done, err = yes(b)
	}
	return done, n.c.errorOf("close", n.path, "", err)
}

// file is an open new file.
type file struct {
	*datanode.Writer
	c    *Client
	once sync.Once
}

// Close implements fs.File. Whatever its answer, the file is no longer kept open from here.
func (f *file) Close() error {
	err := f.Writer.Close()
	f.once.Do(f.c.lease.release)
	return err
}

// Abort implements fs.Aborter.
func (f *file) Abort() {
	f.Writer.Abort()
	f.once.Do(f.c.lease.release)
}

func (c *Client) newFile(p string, id uint64, o datanode.Options) (fs.File, error) {
	w, err := datanode.NewWriter(&inode{c, p, id}, p, o)
	if err != nil {
		return nil, err
	}
	return &file{Writer: w, c: c}, nil
}

// Open implements fs.FS.
func (c *Client) Open(p string) (fs.Reader, error) {
	if _, err := c.settings(); err != nil { // encryption is refused by it
		return nil, c.errorOf("open", p, "", err)
	}
	r, err := datanode.NewReader(locator{c, p}, p, c.data)
	if err != nil {
		return nil, err
	}
	return r, nil
}
