package datanode

import (
	"sync"
	"time"
)

// suspectFor is how long a silent node is left out. The NameNode itself gives new blocks to it for ten minutes, and each try costs the time of
// silence.
const suspectFor = time.Minute

// Suspects remembers DataNodes that were silent, for all files of one client. Nodes that refuse or fail aloud are not among them: to try such a
// one again costs nothing, and it may be back. The zero value is ready.
type Suspects struct {
	mu sync.Mutex
	// nodes are by address, with the time until which they are left out.
	nodes map[string]suspect
}

type suspect struct {
	node  Node
	until time.Time
}

func (s *Suspects) add(n Node) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.nodes == nil {
		s.nodes = map[string]suspect{}
	}
	s.nodes[n.Addr()] = suspect{n, time.Now().Add(suspectFor)}
}

// has reports whether n is one now.
func (s *Suspects) has(n Node) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	x, ok := s.nodes[n.Addr()]
	return ok && time.Now().Before(x.until)
}

// list gives those of now.
func (s *Suspects) list() []Node {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	var nodes []Node
	for addr, x := range s.nodes {
		if now.Before(x.until) {
			nodes = append(nodes, x.node)
		} else {
			delete(s.nodes, addr)
		}
	}
	return nodes
}

// clear forgets all: there is nothing else.
func (s *Suspects) clear() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.nodes)
}
