package rpc_test

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"staunch/fault"
	"staunch/fs"
	"staunch/fs/hdfs/rpc"
	"staunch/fs/hdfs/rpc/rpctest"
)

const standbyClass = "org.apache.hadoop.ipc.StandbyException"

func standby(rpctest.Call) rpctest.Reply {
	return rpctest.Reply{Class: standbyClass, Text: "Operation category READ is not supported in state standby\nat java"}
}

// run gives a test a pair of NameNodes, a client of both, and a clock that jumps.
func run(t *testing.T, f func(t *testing.T, w *rpctest.World, c *rpc.Client)) {
	synctest.Test(t, func(t *testing.T) {
		w := rpctest.New("a:1", "b:2")
		c := rpc.New([]rpc.Node{{"nn1", "a:1"}, {"nn2", "b:2"}}, rpc.Options{User: "alice", Dial: w.Dial})
		f(t, w, c)
		c.Close()
		w.Stop()
	})
}

func TestCall(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		for _, s := range []string{"", "x", strings.Repeat("y", 100000)} {
			got, err := c.Call("echo", []byte(s))
			if err != nil || string(got) != s {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
		}
		n := w.Node("a:1")
		if user, protocol := n.Speaker(); user != "alice" || protocol != "org.apache.hadoop.hdfs.protocol.ClientProtocol" {
			t.Errorf("user %q, protocol %q", user, protocol)
		}
		calls := n.Calls()
		if len(calls) != 3 || calls[0].ID == calls[1].ID || calls[0].Retry != 0 || calls[0].Method != "echo" || len(calls[0].Client) != 16 {
			t.Errorf("%+v", calls)
		}
		if len(w.Node("b:2").Calls()) != 0 {
			t.Error("the other NameNode was asked")
		}
	})
}

func TestStandby(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		w.Node("a:1").Serve(standby)
		start := time.Now()
		if _, err := c.Call("one", []byte("1")); err != nil {
			t.Fatal(err)
		}
		if time.Since(start) != 0 {
			t.Errorf("it took %s", time.Since(start))
		}
		a, b := w.Node("a:1").Calls(), w.Node("b:2").Calls()
		if len(a) != 1 || len(b) != 1 || a[0].ID != b[0].ID || a[0].Client != b[0].Client || a[0].Retry != 0 || b[0].Retry != 1 {
			t.Errorf("%+v, %+v", a, b)
		}
		if _, err := c.Call("two", nil); err != nil {
			t.Fatal(err)
		}
		if len(w.Node("a:1").Calls()) != 1 {
			t.Error("the active one was not remembered")
		}
	})
}

func TestReplyLost(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		// Carried out, but the connection dies before the answer; by then the other one is active.
		w.Node("a:1").Serve(func(s rpctest.Call) rpctest.Reply {
			w.Node("a:1").Refuse(true)
			return rpctest.Reply{Cut: true}
		})
		if _, err := c.Call("rename2", []byte("1")); err != nil {
			t.Fatal(err)
		}
		a, b := w.Node("a:1").Calls(), w.Node("b:2").Calls()
		if len(a) != 1 || len(b) != 1 || a[0].ID != b[0].ID || a[0].Client != b[0].Client || b[0].Retry != 1 {
			t.Errorf("%+v, %+v", a, b)
		}
		if !bytes.Equal(a[0].Request, b[0].Request) {
			t.Error("another request")
		}
	})
}

func TestOneNodeReplyLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := rpctest.New("a:1")
		c := rpc.New([]rpc.Node{{Addr: "a:1"}}, rpc.Options{User: "u", Dial: w.Dial})
		cut := 2
		w.Node("a:1").Serve(func(s rpctest.Call) rpctest.Reply {
			cut--
			return rpctest.Reply{Cut: cut >= 0, Body: s.Request}
		})
		got, err := c.Call("delete", []byte("1"))
		if err != nil || string(got) != "1" {
			t.Fatal(err)
		}
		calls := w.Node("a:1").Calls()
		for i, s := range calls {
			if s.ID != calls[0].ID || int(s.Retry) != i {
				t.Errorf("%+v", s)
			}
		}
		if len(calls) != 3 {
			t.Errorf("%d calls", len(calls))
		}
		c.Close()
		w.Stop()
	})
}

func TestSilence(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		w.Node("a:1").Serve(func(rpctest.Call) rpctest.Reply { return rpctest.Reply{Silent: true} })
		start := time.Now()
		var wg sync.WaitGroup
		for i := range 5 { // none waits for another
			wg.Go(func() {
				if _, err := c.Call("one", []byte{byte(i)}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if d := time.Since(start); d != 10*time.Second {
			t.Errorf("it took %s", d)
		}
		start = time.Now()
		if _, err := c.Call("two", nil); err != nil || time.Since(start) != 0 {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		if ended(w, "a:1") != 1 {
			t.Errorf("%d connections closed", ended(w, "a:1"))
		}
	})
}

func TestStoppedProcess(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		// Its kernel takes connections; a pipe without reader takes no bytes, so that sending is what has to end in time.
		w.Node("a:1").Deaf()
		w.Node("b:2").Serve(standby)
		start := time.Now()
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				_, err := c.Call("one", []byte("1"))
				if !errors.Is(err, fs.ErrUnavailable) {
					t.Errorf("got %v", err)
				}
				for _, say := range []string{"nn1 (a:1)", "nn2 (b:2)", "StandbyException", "30s", "one"} {
					if err == nil || !strings.Contains(err.Error(), say) {
						t.Errorf("%v does not say %q", err, say)
					}
				}
			})
		}
		wg.Wait()
		if d := time.Since(start); d != 30*time.Second {
			t.Errorf("patience was over after %s", d)
		}
	})
}

// TestShortLastTry: a call whose patience ends soon does not take the connection away from the others.
func TestShortLastTry(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		if _, err := c.Call("one", nil); err != nil {
			t.Fatal(err)
		}
		w.Node("a:1").Serve(func(s rpctest.Call) rpctest.Reply {
			if s.Method == "held" {
				return rpctest.Reply{Silent: true}
			}
			time.Sleep(2 * time.Second)
			return rpctest.Reply{Body: s.Request}
		})
		w.Node("b:2").Serve(standby)
		done := make(chan error)
		go func() { _, err := c.Call("two", nil); done <- err }()
		if _, err := c.CallPatiently("held", nil, time.Second); !errors.Is(err, fs.ErrUnavailable) {
			t.Errorf("got %v", err)
		}
		if err := <-done; err != nil {
			t.Error(err)
		}
		if n := ended(w, "a:1"); n != 0 {
			t.Errorf("%d connections were closed", n)
		}
	})
}

// TestTakeOver stops the active NameNode; the other one is standby for 5 s more. The call goes on as soon as that is over.
func TestTakeOver(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		start := time.Now()
		w.Node("a:1").Serve(func(rpctest.Call) rpctest.Reply { return rpctest.Reply{Silent: true} })
		w.Node("b:2").Serve(func(s rpctest.Call) rpctest.Reply {
			if time.Since(start) < 15*time.Second {
				return standby(s)
			}
			return rpctest.Reply{Body: s.Request}
		})
		if _, err := c.Call("one", nil); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(start); d > 17*time.Second {
			t.Errorf("it took %s", d)
		}
		// The stopped one is asked again when it may be back.
		w.Node("b:2").Serve(standby)
		w.Node("a:1").Serve(func(s rpctest.Call) rpctest.Reply { return rpctest.Reply{Body: s.Request} })
		if _, err := c.Call("two", nil); err != nil {
			t.Error(err)
		}
	})
}

func TestSlowCallBesideOthers(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		// One call hangs in the NameNode, others go through: the connection lives.
		hung := 0
		w.Node("a:1").Serve(func(s rpctest.Call) rpctest.Reply {
			if s.Method == "slow" && hung == 0 {
				hung++
				return rpctest.Reply{Silent: true}
			}
			return rpctest.Reply{Body: s.Request}
		})
		w.Node("b:2").Serve(standby)
		var wg sync.WaitGroup
		wg.Go(func() {
			if _, err := c.Call("slow", []byte("1")); err != nil {
				t.Error(err)
			}
		})
		for range 8 {
			if _, err := c.Call("fast", nil); err != nil {
				t.Error(err)
			}
			time.Sleep(2 * time.Second)
		}
		wg.Wait()
		if n := ended(w, "a:1"); n != 0 {
			t.Errorf("%d connections were closed", n)
		}
	})
}

func TestRetriable(t *testing.T) {
	for _, class := range []string{"org.apache.hadoop.ipc.RetriableException", "org.apache.hadoop.hdfs.server.namenode.SafeModeException"} {
		run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
			left := 4
			w.Node("a:1").Serve(func(s rpctest.Call) rpctest.Reply {
				if left--; left >= 0 {
					return rpctest.Reply{Class: class, Text: "later"}
				}
				return rpctest.Reply{Body: s.Request}
			})
			start := time.Now()
			if _, err := c.Call("create", []byte("1")); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d < 375*time.Millisecond || d > 750*time.Millisecond {
				t.Errorf("paused for %s", d)
			}
			calls := w.Node("a:1").Calls()
			if len(calls) != 5 || calls[4].ID != calls[0].ID || calls[4].Retry != 4 || len(w.Node("b:2").Calls()) != 0 {
				t.Errorf("%d calls", len(calls))
			}
			left = 1 << 30
			start = time.Now()
			_, err := c.Call("create", nil)
			if !errors.Is(err, fs.ErrUnavailable) || !strings.Contains(err.Error(), "later") || time.Since(start) != 30*time.Second {
				t.Errorf("%v after %s", err, time.Since(start))
			}
		})
	}
}

func TestExceptionIsTheAnswer(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		w.Node("a:1").Serve(func(rpctest.Call) rpctest.Reply {
			return rpctest.Reply{Class: "org.apache.hadoop.hdfs.protocol.FSLimitException$PathComponentTooLongException", Text: "too long\n\tat x"}
		})
		_, err := c.Call("mkdirs", nil)
		var r *rpc.RemoteError
		if !errors.As(err, &r) || r.Short() != "PathComponentTooLongException" || r.Text != "too long" || r.Node.ID != "nn1" || errors.Is(err, fs.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		if len(w.Node("a:1").Calls()) != 1 {
			t.Error("asked again")
		}
	})
}

func TestBothAway(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		w.Node("a:1").Refuse(true)
		w.Node("b:2").Refuse(true)
		start := time.Now()
		_, err := c.Call("one", nil)
		if !errors.Is(err, fs.ErrUnavailable) || time.Since(start) != 30*time.Second || strings.Count(err.Error(), "connection refused") != 2 {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		time.AfterFunc(7*time.Second, func() { w.Node("b:2").Refuse(false) })
		start = time.Now()
		if _, err := c.Call("one", nil); err != nil || time.Since(start) > 12*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestIdleConnectionClosedByServer(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		w.Node("b:2").Serve(standby)
		if _, err := c.Call("one", nil); err != nil {
			t.Fatal(err)
		}
		w.Node("a:1").Break()
		synctest.Wait()
		if _, err := c.Call("two", nil); err != nil {
			t.Fatal(err)
		}
		if len(w.Node("b:2").Calls()) != 0 {
			t.Error("it went to the standby")
		}
		time.Sleep(time.Minute) // longer than the NameNode keeps idle connections
		if _, err := c.Call("three", nil); err != nil {
			t.Fatal(err)
		}
		if len(w.Node("b:2").Calls()) != 0 || ended(w, "a:1") < 2 {
			t.Error("an old connection was used")
		}
	})
}

func TestConcurrent(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		var wg sync.WaitGroup
		for i := range 50 {
			wg.Go(func() {
				for k := range 20 {
					s := fmt.Sprintf("%d-%d", i, k)
					if got, err := c.Call("echo", []byte(s)); err != nil || string(got) != s {
						t.Errorf("%q: %q, %v", s, got, err)
					}
				}
			})
		}
		wg.Wait()
		if n := opened(w, "a:1"); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestKerberosWanted(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		w.Node("a:1").Serve(func(rpctest.Call) rpctest.Reply {
			return rpctest.Reply{Fatal: true, Code: 15, Class: "org.apache.hadoop.security.AccessControlException",
				Text: "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]"}
		})
		_, err := c.Call("one", nil)
		if fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "Kerberos") || !strings.Contains(err.Error(), "nn1 (a:1)") {
			t.Errorf("got %v", err)
		}
		if errors.Is(err, fs.ErrUnavailable) {
			t.Error("taken for an outage")
		}
	})
}

func TestOtherVersion(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		w.Node("a:1").Serve(func(rpctest.Call) rpctest.Reply {
			return rpctest.Reply{Fatal: true, Code: 14, Class: "org.apache.hadoop.ipc.RPC$VersionMismatch", Text: "Server IPC version 4"}
		})
		if _, err := c.Call("one", nil); fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "version 4") {
			t.Errorf("got %v", err)
		}
	})
}

func TestClose(t *testing.T) {
	run(t, func(t *testing.T, w *rpctest.World, c *rpc.Client) {
		w.Node("a:1").Serve(func(rpctest.Call) rpctest.Reply { return rpctest.Reply{Silent: true} })
		done := make(chan error)
		go func() { _, err := c.Call("one", nil); done <- err }()
		synctest.Wait()
		start := time.Now()
		c.Close()
		if err := <-done; err == nil || time.Since(start) != 0 {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		if _, err := c.Call("two", nil); err == nil {
			t.Error("a closed client answers")
		}
	})
}

func ended(w *rpctest.World, addr string) int {
	_, n := w.Node(addr).Conns()
	return n
}

func opened(w *rpctest.World, addr string) int {
	n, _ := w.Node(addr).Conns()
	return n
}
