package hdfs

import (
	"errors"
	"fmt"
	iofs "io/fs"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"staunch/fault"
	"staunch/fs"
	"staunch/fs/hdfs/conf"
	"staunch/fs/hdfs/datanode"
	"staunch/fs/hdfs/rpc"
	"staunch/fs/hdfs/rpc/rpctest"
)

// run gives a test a client of one NameNode, which answers by serve, and a clock that jumps.
func run(t *testing.T, serve map[string]func(rpctest.Call) rpctest.Reply, f func(t *testing.T, c *Client, n *rpctest.NameNode)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		w := rpctest.New("n:1")
		w.Node("n:1").Serve(func(c rpctest.Call) rpctest.Reply {
			if s := serve[c.Method]; s != nil {
				return s(c)
			}
			switch c.Method {
			case "getServerDefaults":
				return answer(message(nil).bytes(1, message(nil).num(1, 1<<20).num(2, 512).num(3, 65536).num(4, 3).num(5, 4096).num(8, 2)))
			case "create":
				return answer(message(nil).bytes(1, fileStatus("", 2, 0, 77)))
			case "complete", "mkdirs", "delete":
				return answer(message(nil).flag(1, true))
			}
			return rpctest.Reply{}
		})
		c := New(conf.Cluster{Name: "hdfs://ns", Nodes: []conf.Node{{ID: "nn1", Addr: "n:1"}}, User: "u", Umask: 0o22}, Options{RPC: rpc.Options{Dial: w.Dial}})
		f(t, c, w.Node("n:1"))
		c.Close()
		w.Stop()
	})
}

func answer(m message) rpctest.Reply { return rpctest.Reply{Body: m} }

func fileStatus(name string, kind, size, id uint64) message {
	return message(nil).num(1, kind).str(2, name).num(3, size).num(7, 1000).num(13, id)
}

// exception is a serve that throws.
func exception(class, text string) func(rpctest.Call) rpctest.Reply {
	return func(rpctest.Call) rpctest.Reply { return rpctest.Reply{Class: class, Text: text + "\n\tat java"} }
}

func is(kind, size uint64) func(rpctest.Call) rpctest.Reply {
	return func(rpctest.Call) rpctest.Reply { return answer(message(nil).bytes(1, fileStatus("", kind, size, 5))) }
}

func find(n *rpctest.NameNode, method string) (list []rpctest.Call) {
	for _, c := range n.Calls() {
		if c.Method == method {
			list = append(list, c)
		}
	}
	return list
}

func TestCreateNeverOverwrites(t *testing.T) {
	run(t, nil, func(t *testing.T, c *Client, n *rpctest.NameNode) {
		f, err := c.Create("/d/a")
		if err != nil {
			t.Fatal(err)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
		r := find(n, "create")[0]
		if r.Str(1) != "/d/a" || r.Int(4)&2 != 0 || r.Int(4)&1 == 0 || r.Int(5) != 0 || r.Int(6) != 3 || r.Int(7) != 1<<20 || r.Str(2) != string(message(nil).num(1, 0o644)) {
			t.Errorf("%+v", r)
		}
		if !strings.HasPrefix(r.Str(3), "staunch-") {
			t.Errorf("lease holder %q", r.Str(3))
		}
		done := find(n, "complete")[0]
		if done.Int(4) != 77 || done.Str(2) != r.Str(3) || done.Str(3) != "" {
			t.Errorf("%+v", done)
		}
		if err := c.Rename("/d/a", "/d/b"); err != nil {
			t.Fatal(err)
		}
		m := find(n, "rename2")[0]
		if m.Str(1) != "/d/a" || m.Str(2) != "/d/b" || m.Int(3) != 0 || len(m.Request) != len(message(nil).str(1, "/d/a").str(2, "/d/b").flag(3, false)) {
			t.Errorf("%+v", m)
		}
	})
}

func TestDeleteLooksFirst(t *testing.T) {
	run(t, map[string]func(rpctest.Call) rpctest.Reply{"getFileInfo": is(1, 0)}, func(t *testing.T, c *Client, n *rpctest.NameNode) {
		if err := c.Delete("/d"); err == nil || !strings.Contains(err.Error(), "folder") {
			t.Errorf("Delete of a folder: %v", err)
		}
		if len(find(n, "delete")) != 0 {
			t.Error("deleted")
		}
		if err := c.DeleteDir("/d"); err != nil {
			t.Error(err)
		}
		if r := find(n, "delete"); len(r) != 1 || r[0].Int(2) != 0 || r[0].Str(1) != "/d" {
			t.Errorf("%+v", r)
		}
	})
	run(t, map[string]func(rpctest.Call) rpctest.Reply{"getFileInfo": is(2, 7)}, func(t *testing.T, c *Client, n *rpctest.NameNode) {
		if err := c.DeleteDir("/f"); err == nil {
			t.Error("DeleteDir of a file succeeded")
		}
		if len(find(n, "delete")) != 0 {
			t.Error("deleted")
		}
		if err := c.Delete("/f"); err != nil {
			t.Error(err)
		}
	})
	gone := map[string]func(rpctest.Call) rpctest.Reply{"getFileInfo": is(2, 7), "delete": func(rpctest.Call) rpctest.Reply { return answer(message(nil).flag(1, false)) }}
	run(t, gone, func(t *testing.T, c *Client, n *rpctest.NameNode) {
		if err := c.Delete("/f"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a file that went meanwhile: %v", err)
		}
	})
}

func TestListPages(t *testing.T) {
	pages := map[string][]string{"": {"é", "a"}, "a": {"b", "c"}, "c": {"d"}}
	serve := func(c rpctest.Call) rpctest.Reply {
		var m message
		for _, name := range pages[c.Str(2)] {
			m = m.bytes(1, fileStatus(name, 2, 3, 1))
		}
		left := uint64(9)
		if c.Str(2) == "c" {
			left = 0
		}
		return answer(message(nil).bytes(1, m.num(2, left)))
	}
	run(t, map[string]func(rpctest.Call) rpctest.Reply{"getListing": serve}, func(t *testing.T, c *Client, n *rpctest.NameNode) {
		l, err := c.List("/d")
		if err != nil || fmt.Sprint(names(l)) != "[a b c d é]" {
			t.Errorf("%v, %v", l, err)
		}
	})
	run(t, map[string]func(rpctest.Call) rpctest.Reply{"getListing": func(rpctest.Call) rpctest.Reply { return answer(nil) }}, func(t *testing.T, c *Client, _ *rpctest.NameNode) {
		if _, err := c.List("/d"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
}

func names(l []fs.Info) (out []string) {
	for _, i := range l {
		out = append(out, i.Name)
	}
	return out
}

func TestExceptions(t *testing.T) {
	const hp, ht = "org.apache.hadoop.hdfs.protocol.", "org.apache.hadoop."
	all := []error{fs.ErrNotExist, fs.ErrExist, fs.ErrNotEmpty, fs.ErrNoSpace, fs.ErrNameTooLong, fs.ErrUnavailable, fs.ErrRefused, iofs.ErrPermission}
	for _, x := range []struct {
		class, text string
		want        error
	}{
		{"java.io.FileNotFoundException", "no", fs.ErrNotExist},
		{ht + "fs.ParentNotDirectoryException", "no", fs.ErrNotExist},
		{ht + "fs.FileAlreadyExistsException", "no", fs.ErrExist},
		{hp + "AlreadyBeingCreatedException", "no", fs.ErrExist},
		{hp + "RecoveryInProgressException", "no", fs.ErrExist},
		{ht + "fs.PathIsNotEmptyDirectoryException", "no", fs.ErrNotEmpty},
		{hp + "NSQuotaExceededException", "no", fs.ErrNoSpace},
		{hp + "DSQuotaExceededException", "no", fs.ErrNoSpace},
		{hp + "QuotaByStorageTypeExceededException", "no", fs.ErrNoSpace},
		{hp + "FSLimitException$MaxDirectoryItemsExceededException", "no", fs.ErrNoSpace},
		{hp + "FSLimitException$PathComponentTooLongException", "no", fs.ErrNameTooLong},
		{"java.io.IOException", "create: Pathname too long.  Limit 8000 characters, 1000 levels.", fs.ErrNameTooLong},
		{"java.io.IOException", "Source /a and destination /b must both be directories", fs.ErrExist},
		{"java.io.IOException", "File /a could only be written to 0 of the 1 minReplication nodes.", fs.ErrUnavailable},
		{ht + "security.AccessControlException", "no", iofs.ErrPermission},
		{ht + "ipc.RetriableException", "no", fs.ErrUnavailable},
		{ht + "hdfs.server.namenode.SafeModeException", "no", fs.ErrUnavailable},
		{ht + "ipc.StandbyException", "no", fs.ErrUnavailable},
		{"java.lang.NullPointerException", "oops", nil},
		{hp + "QuotaOfSomethingNew", "no", nil},
	} {
		run(t, map[string]func(rpctest.Call) rpctest.Reply{"rename2": exception(x.class, x.text)}, func(t *testing.T, c *Client, _ *rpctest.NameNode) {
			err := c.Rename("/d/a", "/d/b")
			for _, s := range all {
				if errors.Is(err, s) != (s == x.want) {
					t.Errorf("%s: %v", x.class, err)
				}
			}
			class := x.class[strings.LastIndexAny(x.class, ".$")+1:]
			for _, say := range []string{"rename", "hdfs://ns/d/a", "/d/b", "n:1", class, x.text} {
				if err == nil || !strings.Contains(err.Error(), say) {
					t.Errorf("%v does not say %q", err, say)
				}
			}
			if err != nil && strings.Contains(err.Error(), "at java") {
				t.Errorf("%v has a stack trace", err)
			}
		})
	}
	run(t, map[string]func(rpctest.Call) rpctest.Reply{"mkdirs": exception(ht+"fs.ParentNotDirectoryException", "/f is not a directory")}, func(t *testing.T, c *Client, _ *rpctest.NameNode) {
		if err := c.MkdirAll("/f/d"); !errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v", err)
		}
	})
	run(t, map[string]func(rpctest.Call) rpctest.Reply{"create": exception(ht+"fs.InvalidPathException", "Invalid path name")}, func(t *testing.T, c *Client, _ *rpctest.NameNode) {
		if _, err := c.Create("/a:b"); fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "colon") {
			t.Errorf("got %v", err)
		}
	})
}

func TestLeaseIsRenewedWhileFilesAreOpen(t *testing.T) {
	run(t, nil, func(t *testing.T, c *Client, n *rpctest.NameNode) {
		f, err := c.Create("/a")
		if err != nil {
			t.Fatal(err)
		}
		g, err := c.Create("/b")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(95 * time.Second)
		r := find(n, "renewLease")
		if len(r) != 3 || r[0].Str(1) != find(n, "create")[0].Str(3) {
			t.Errorf("%d renewals: %+v", len(r), r)
		}
		if err := errors.Join(f.Close(), f.Close()); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute)
		if len(find(n, "renewLease")) != 5 {
			t.Error("not renewed for the second file")
		}
		if err := g.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(5 * time.Minute)
		if k := len(find(n, "renewLease")); k != 5 {
			t.Errorf("%d renewals", k)
		}
		h, err := c.Create("/c")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(31 * time.Second)
		if k := len(find(n, "renewLease")); k != 6 {
			t.Errorf("%d renewals", k)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestRefusedCreateHoldsNoLease(t *testing.T) {
	run(t, map[string]func(rpctest.Call) rpctest.Reply{"create": exception("org.apache.hadoop.fs.FileAlreadyExistsException", "/a")}, func(t *testing.T, c *Client, n *rpctest.NameNode) {
		if _, err := c.Create("/a"); !errors.Is(err, fs.ErrExist) {
			t.Errorf("got %v", err)
		}
		time.Sleep(5 * time.Minute)
		if len(find(n, "renewLease")) != 0 {
			t.Error("renewed")
		}
	})
}

func TestRenewalIsTriedAgain(t *testing.T) {
	var fail atomic.Bool
	fail.Store(true)
	serve := map[string]func(rpctest.Call) rpctest.Reply{"renewLease": func(rpctest.Call) rpctest.Reply { return rpctest.Reply{Cut: fail.Load()} }}
	run(t, serve, func(t *testing.T, c *Client, n *rpctest.NameNode) {
		f, err := c.Create("/a")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(51 * time.Second)
		synctest.Wait()
		fail.Store(false)
		time.Sleep(2 * time.Second)
		synctest.Wait()
		c.lease.mu.Lock()
		failed := c.lease.failed
		c.lease.mu.Unlock()
		if failed != nil {
			t.Errorf("not renewed at once: %v", failed)
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
}

func TestBlockBeforeNotReplicated(t *testing.T) {
	left := 3
	block := message(nil).str(1, "pool").num(2, 9).num(3, 1).num(4, 0)
	node := message(nil).bytes(1, message(nil).str(1, "10.0.0.1").str(2, "dn").str(3, "uuid").num(4, 9866).num(5, 1).num(6, 1))
	serve := map[string]func(rpctest.Call) rpctest.Reply{"addBlock": func(c rpctest.Call) rpctest.Reply {
		if left--; left > 0 {
			return exception("org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException", "Not replicated yet: /a")(c)
		}
		return answer(message(nil).bytes(1, message(nil).bytes(1, block).num(2, 0).bytes(3, node).num(4, 0).bytes(5, nil)))
	}}
	run(t, serve, func(t *testing.T, c *Client, n *rpctest.NameNode) {
		f := &inode{c, "/a", 77}
		l, err := f.AddBlock(&datanode.Block{Pool: "pool", ID: 8, Generation: 1, Length: 10}, []datanode.Node{{Raw: node}})
		if err != nil || l.Block.ID != 9 || len(l.Nodes) != 1 || l.Nodes[0].Addr() != "10.0.0.1:9866" {
			t.Fatalf("%+v, %v", l, err)
		}
		r := find(n, "addBlock")
		if len(r) != 3 || r[0].Str(4) != string(node) || r[0].Int(5) != 77 {
			t.Errorf("%+v", r)
		}
		left = 1 << 30
		if _, err := f.AddBlock(nil, nil); !errors.Is(err, fs.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
	})
}

func TestEncryptionIsRefused(t *testing.T) {
	serve := map[string]func(rpctest.Call) rpctest.Reply{"getServerDefaults": func(rpctest.Call) rpctest.Reply {
		return answer(message(nil).bytes(1, message(nil).num(1, 1<<20).num(6, 1)))
	}}
	run(t, serve, func(t *testing.T, c *Client, _ *rpctest.NameNode) {
		for _, err := range []error{second(c.Create("/a")), second(c.Open("/a"))} {
			if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "dfs.encrypt.data.transfer") {
				t.Errorf("got %v", err)
			}
		}
	})
}

func second[T any](_ T, err error) error { return err }

// TestGarbage has a NameNode that answers every call with bytes that mean nothing.
func TestGarbage(t *testing.T) {
	for _, b := range [][]byte{{0xff}, {10, 200}, {10, 3, 10, 9, 9}, {8}, []byte("HTTP/1.1 400")} {
		serve := map[string]func(rpctest.Call) rpctest.Reply{}
		for _, m := range []string{"getServerDefaults", "create", "rename2", "getFileInfo", "getListing", "mkdirs", "delete", "getBlockLocations", "recoverLease", "addBlock", "complete", "updateBlockForPipeline"} {
			serve[m] = func(rpctest.Call) rpctest.Reply { return rpctest.Reply{Body: b} }
		}
		run(t, serve, func(t *testing.T, c *Client, _ *rpctest.NameNode) {
			f := &inode{c, "/a", 1}
			for what, err := range map[string]error{"create": second(c.Create("/a")), "stat": second(c.Stat("/a")), "list": second(c.List("/a")), "open": second(c.Open("/a")),
				"mkdir": c.MkdirAll("/a"), "delete": c.Delete("/a"), "delete folder": c.DeleteDir("/a"), "recover": second(c.RecoverLease("/a")),
				"block": second(f.AddBlock(nil, nil)), "complete": second(f.Complete(nil)), "update": second(f.UpdateBlockForPipeline(datanode.Block{}))} {
				if err == nil {
					t.Errorf("%s takes %q for an answer", what, b)
				}
			}
		})
	}
}
