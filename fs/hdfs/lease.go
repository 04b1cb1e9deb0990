package hdfs

import (
	"sync"
	"time"
)

// lease keeps this client's files open while it has any.
type lease struct {
	c    *Client
	wake chan struct{}
	wg   sync.WaitGroup

	mu      sync.Mutex
	open    int
	running bool
	closed  bool
	// failed is why the newest renewal failed, nil when it did not.
	failed error
}

const (
	renewEvery = 30 * time.Second
	// renewPatience bounds one renewal; the NameNode gives a lease away a minute after the newest, and only to one who asks for that file.
	renewPatience = 20 * time.Second
	renewAgain    = 2 * time.Second
)

func (l *lease) init(c *Client) { l.c, l.wake = c, make(chan struct{}) }

// hold counts an open file.
func (l *lease) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open++
	if !l.running && !l.closed {
		l.running = true
		l.wg.Go(l.renew)
	}
}

func (l *lease) release() {
	l.mu.Lock()
	l.open--
	l.mu.Unlock()
}

func (l *lease) close() {
	l.mu.Lock()
	first := !l.closed
	l.closed = true
	l.mu.Unlock()
	if first {
		close(l.wake)
	}
	l.wg.Wait()
}

// renew runs while files are open, and ends at the first turn without.
func (l *lease) renew() {
	wait := renewEvery
	for {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-l.wake:
			timer.Stop()
			return
		}
		l.mu.Lock()
		if l.open == 0 {
			l.running = false
			l.mu.Unlock()
			return
		}
		l.mu.Unlock()
		_, err := l.c.rpc.CallPatiently("renewLease", message(nil).str(1, l.c.data.Client), renewPatience)
		wait = renewEvery
		if err != nil {
			wait = renewAgain
		}
		l.mu.Lock()
		l.failed = err
		l.mu.Unlock()
	}
}
