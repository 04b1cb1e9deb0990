package rpc

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
)

const standbyClass = "org.apache.hadoop.ipc.StandbyException"

func standby(seen) reply {
	return reply{class: standbyClass, text: "Operation category READ is not supported in state standby\nat java"}
}

// run gives a test a pair of NameNodes, a client of both, and a clock that jumps.
func run(t *testing.T, f func(t *testing.T, w *world, c *Client)) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a:1", "b:2")
		c := New([]Node{{"nn1", "a:1"}, {"nn2", "b:2"}}, Options{User: "alice", Dial: w.dial})
		f(t, w, c)
		c.Close()
		w.stop()
	})
}

func TestCall(t *testing.T) {
	run(t, func(t *testing.T, w *world, c *Client) {
		for _, s := range []string{"", "x", strings.Repeat("y", 100000)} {
			got, err := c.Call("echo", []byte(s))
			if err != nil || string(got) != s {
				t.Fatalf("%d bytes, %v", len(got), err)
			}
		}
		n := w.nodes["a:1"]
		if n.user != "alice" || n.protocol != "org.apache.hadoop.hdfs.protocol.ClientProtocol" {
			t.Errorf("user %q, protocol %q", n.user, n.protocol)
		}
		calls := n.seen()
		if len(calls) != 3 || calls[0].call == calls[1].call || calls[0].retry != 0 || calls[0].method != "echo" || len(calls[0].client) != 16 {
			t.Errorf("%+v", calls)
		}
		if len(w.nodes["b:2"].seen()) != 0 {
			t.Error("the other NameNode was asked")
		}
	})
}

func TestStandby(t *testing.T) {
	run(t, func(t *testing.T, w *world, c *Client) {
		w.nodes["a:1"].set(standby)
		start := time.Now()
		if _, err := c.Call("one", []byte("1")); err != nil {
			t.Fatal(err)
		}
		if time.Since(start) != 0 {
			t.Errorf("it took %s", time.Since(start))
		}
		a, b := w.nodes["a:1"].seen(), w.nodes["b:2"].seen()
		if len(a) != 1 || len(b) != 1 || a[0].call != b[0].call || a[0].client != b[0].client || a[0].retry != 0 || b[0].retry != 1 {
			t.Errorf("%+v, %+v", a, b)
		}
		if _, err := c.Call("two", nil); err != nil {
			t.Fatal(err)
		}
		if len(w.nodes["a:1"].seen()) != 1 {
			t.Error("the active one was not remembered")
		}
	})
}

func TestReplyLost(t *testing.T) {
	run(t, func(t *testing.T, w *world, c *Client) {
		// Carried out, but the connection dies before the answer; by then the other one is active.
		w.nodes["a:1"].set(func(s seen) reply {
			w.nodes["a:1"].refuse = true
			return reply{cut: true}
		})
		if _, err := c.Call("rename2", []byte("1")); err != nil {
			t.Fatal(err)
		}
		a, b := w.nodes["a:1"].seen(), w.nodes["b:2"].seen()
		if len(a) != 1 || len(b) != 1 || a[0].call != b[0].call || a[0].client != b[0].client || b[0].retry != 1 {
			t.Errorf("%+v, %+v", a, b)
		}
		if !bytes.Equal(a[0].request, b[0].request) {
			t.Error("another request")
		}
	})
}

func TestOneNodeReplyLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, "a:1")
		c := New([]Node{{Addr: "a:1"}}, Options{User: "u", Dial: w.dial})
		cut := 2
		w.nodes["a:1"].set(func(s seen) reply {
			cut--
			return reply{cut: cut >= 0, body: s.request}
		})
		got, err := c.Call("delete", []byte("1"))
		if err != nil || string(got) != "1" {
			t.Fatal(err)
		}
		calls := w.nodes["a:1"].seen()
		for i, s := range calls {
			if s.call != calls[0].call || int(s.retry) != i {
				t.Errorf("%+v", s)
			}
		}
		if len(calls) != 3 {
			t.Errorf("%d calls", len(calls))
		}
		c.Close()
		w.stop()
	})
}

func TestSilence(t *testing.T) {
	run(t, func(t *testing.T, w *world, c *Client) {
		w.nodes["a:1"].set(func(seen) reply { return reply{silent: true} })
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
		if w.nodes["a:1"].ended() != 1 {
			t.Errorf("%d connections closed", w.nodes["a:1"].ended())
		}
	})
}

func TestStoppedProcess(t *testing.T) {
	run(t, func(t *testing.T, w *world, c *Client) {
		// Its kernel takes connections; a pipe without reader takes no bytes, so that sending is what has to end in time.
		w.nodes["a:1"].deaf = true
		w.nodes["b:2"].set(standby)
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
		if d := time.Since(start); d < 30*time.Second || d > 31*time.Second {
			t.Errorf("patience was over after %s", d)
		}
	})
}

func TestSlowCallBesideOthers(t *testing.T) {
	run(t, func(t *testing.T, w *world, c *Client) {
		// One call hangs in the NameNode, others go through: the connection lives.
		hung := 0
		w.nodes["a:1"].set(func(s seen) reply {
			if s.method == "slow" && hung == 0 {
				hung++
				return reply{silent: true}
			}
			return reply{body: s.request}
		})
		w.nodes["b:2"].set(standby)
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
		if n := w.nodes["a:1"].ended(); n != 0 {
			t.Errorf("%d connections were closed", n)
		}
	})
}

func TestRetriable(t *testing.T) {
	for _, class := range []string{"org.apache.hadoop.ipc.RetriableException", "org.apache.hadoop.hdfs.server.namenode.SafeModeException"} {
		run(t, func(t *testing.T, w *world, c *Client) {
			left := 4
			w.nodes["a:1"].set(func(s seen) reply {
				if left--; left >= 0 {
					return reply{class: class, text: "later"}
				}
				return reply{body: s.request}
			})
			start := time.Now()
			if _, err := c.Call("create", []byte("1")); err != nil {
				t.Fatal(err)
			}
			if d := time.Since(start); d < 375*time.Millisecond || d > 750*time.Millisecond {
				t.Errorf("paused for %s", d)
			}
			calls := w.nodes["a:1"].seen()
			if len(calls) != 5 || calls[4].call != calls[0].call || calls[4].retry != 4 || len(w.nodes["b:2"].seen()) != 0 {
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
	run(t, func(t *testing.T, w *world, c *Client) {
		w.nodes["a:1"].set(func(seen) reply {
			return reply{class: "org.apache.hadoop.hdfs.protocol.FSLimitException$PathComponentTooLongException", text: "too long\n\tat x"}
		})
		_, err := c.Call("mkdirs", nil)
		var r *RemoteError
		if !errors.As(err, &r) || r.Short() != "PathComponentTooLongException" || r.Text != "too long" || r.Node.ID != "nn1" || errors.Is(err, fs.ErrUnavailable) {
			t.Errorf("%v", err)
		}
		if len(w.nodes["a:1"].seen()) != 1 {
			t.Error("asked again")
		}
	})
}

func TestBothAway(t *testing.T) {
	run(t, func(t *testing.T, w *world, c *Client) {
		w.nodes["a:1"].refuse, w.nodes["b:2"].refuse = true, true
		start := time.Now()
		_, err := c.Call("one", nil)
		if !errors.Is(err, fs.ErrUnavailable) || time.Since(start) != 30*time.Second || strings.Count(err.Error(), "connection refused") != 2 {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		time.AfterFunc(7*time.Second, func() { w.nodes["b:2"].mu.Lock(); w.nodes["b:2"].refuse = false; w.nodes["b:2"].mu.Unlock() })
		start = time.Now()
		if _, err := c.Call("one", nil); err != nil || time.Since(start) > 12*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
	})
}

func TestIdleConnectionClosedByServer(t *testing.T) {
	run(t, func(t *testing.T, w *world, c *Client) {
		w.nodes["b:2"].set(standby)
		if _, err := c.Call("one", nil); err != nil {
			t.Fatal(err)
		}
		w.nodes["a:1"].cutAll()
		synctest.Wait()
		if _, err := c.Call("two", nil); err != nil {
			t.Fatal(err)
		}
		if len(w.nodes["b:2"].seen()) != 0 {
			t.Error("it went to the standby")
		}
		time.Sleep(time.Minute) // longer than the NameNode keeps idle connections
		if _, err := c.Call("three", nil); err != nil {
			t.Fatal(err)
		}
		if len(w.nodes["b:2"].seen()) != 0 || w.nodes["a:1"].ended() < 2 {
			t.Error("an old connection was used")
		}
	})
}

func TestConcurrent(t *testing.T) {
	run(t, func(t *testing.T, w *world, c *Client) {
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
		if n := w.nodes["a:1"].opened(); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestKerberosWanted(t *testing.T) {
	run(t, func(t *testing.T, w *world, c *Client) {
		w.nodes["a:1"].set(func(seen) reply {
			return reply{fatal: true, code: fatalUnauthorized, class: "org.apache.hadoop.security.AccessControlException",
				text: "SIMPLE authentication is not enabled.  Available:[TOKEN, KERBEROS]"}
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
	run(t, func(t *testing.T, w *world, c *Client) {
		w.nodes["a:1"].set(func(seen) reply {
			return reply{fatal: true, code: fatalVersion, class: "org.apache.hadoop.ipc.RPC$VersionMismatch", text: "Server IPC version 4"}
		})
		if _, err := c.Call("one", nil); fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "version 4") {
			t.Errorf("got %v", err)
		}
	})
}

func TestClose(t *testing.T) {
	run(t, func(t *testing.T, w *world, c *Client) {
		w.nodes["a:1"].set(func(seen) reply { return reply{silent: true} })
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

// TestGarbage feeds answers that are none: the client neither panics nor waits for ever.
func TestGarbage(t *testing.T) {
	good := reply{body: []byte("x")}.encode(1)
	for cut := range len(good) {
		for flip := range 4 {
			b := append([]byte(nil), good[:cut]...)
			if flip > 0 && cut > 4 {
				b[4+(cut*flip)%(cut-4)] ^= byte(1 << flip)
			}
			_, _ = readAnswer(bytes.NewReader(b))
			_, _ = parseAnswer(b)
		}
	}
	if _, err := readAnswer(strings.NewReader("HTTP/1.1 400 Bad Request")); err == nil {
		t.Error("taken for an answer")
	}
}
