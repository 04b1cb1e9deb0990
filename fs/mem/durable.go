package mem

import (
	"slices"
	"time"
)

// change is a name that was made, moved or removed and may not be durable yet.
type change struct {
	kind OpKind
	node *node
	// src, dst are the folders of the old and the new name, or nil.
	src, dst         *node
	srcName, dstName string
	// srcDurable, dstDurable: that folder was synced since.
	srcDurable, dstDurable bool
	// by made the change, at the time at.
	by string
	at time.Time
}

func (c *change) durable() bool {
	return (c.src == nil || c.srcDurable) && (c.dst == nil || c.dstDurable)
}

func (s *Store) changed(c *change) {
	if s.durable > 64 && s.durable > len(s.changes)/2 {
		s.changes = slices.DeleteFunc(s.changes, (*change).durable)
		s.durable = 0
	}
	s.changes = append(s.changes, c)
	if s.Now != nil {
		c.by, c.at = s.by, s.Now()
		old := 0
		for old < len(s.recent) && c.at.Sub(s.recent[old].at) > MaxLag {
			old++
		}
		s.recent = append(s.recent[old:], c)
	}
	if c.src != nil {
		c.src.pending = append(c.src.pending, c)
	}
	if c.dst != nil && c.dst != c.src {
		c.dst.pending = append(c.dst.pending, c)
	}
}

// syncDir makes the names in a folder durable.
func (s *Store) syncDir(dir *node) {
	for _, c := range dir.pending {
		if c.durable() {
			continue
		}
		c.srcDurable = c.srcDurable || c.src == dir
		c.dstDurable = c.dstDurable || c.dst == dir
		if c.durable() {
			s.durable++
		}
	}
	dir.pending = dir.pending[:0]
}

// PowerCut ends all processes and keeps or loses each thing that is not durable, as choose says (true: kept), which is asked in an order that
// depends on the calls before only. Afterwards everything left is durable, and nothing is left that could take effect late.
func (s *Store) PowerCut(choose func() bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.clients {
		c.dead, c.cut = true, true
	}
	for i := len(s.changes) - 1; i >= 0; i-- {
		if c := s.changes[i]; !c.durable() {
			s.undo(c, s.changes[i+1:], choose)
		}
	}
	s.clients, s.late, s.changes, s.durable, s.recent = nil, nil, nil, 0, nil
	settle(s.root, choose)
	if s.Trace != nil {
		s.Trace("power cut")
	}
}

// undo takes a change back, or half of it, if choose says so and nothing stands in its way. Later changes were looked at before.
func (s *Store) undo(c *change, later []*change, choose func() bool) {
	switch c.kind {
	case Create, Mkdir:
		if c.dst.child(c.dstName) != c.node || choose() {
			return
		}
		c.dst.drop(c.dstName)
		if c.kind == Mkdir {
			rescue(c.node, later)
		}
	case Delete, DeleteDir:
		if c.src.child(c.srcName) == nil && !choose() {
			c.src.put(c.srcName, c.node)
		}
	case Rename:
		if c.dst.child(c.dstName) != c.node || c.src.child(c.srcName) != nil || c.node.dir && c.dstDurable || choose() {
			return
		}
		c.src.put(c.srcName, c.node)
		both := c.dstDurable || !c.srcDurable && choose()
		if !both || c.node.dir {
			c.dst.drop(c.dstName)
		}
	}
}

// rescue puts files that were moved into a folder which is lost back to where they came from, if that is not durably gone: a move loses one
// of its names at most.
func rescue(lost *node, later []*change) {
	for _, c := range later {
		if c.kind == Rename && !c.srcDurable && within(lost, c.dst) && c.dst.child(c.dstName) == c.node && c.src.child(c.srcName) == nil {
			c.src.put(c.srcName, c.node)
		}
	}
}

// settle cuts files to what is durable, or keeps more, and makes all that is left durable.
func settle(n *node, choose func() bool) {
	n.pending, n.writer = nil, nil
	for _, k := range n.kids {
		settle(k, choose)
	}
	if n.dir || n.synced == len(n.data) {
		return
	}
	if !choose() {
		keep := n.synced
		if choose() {
			keep += (len(n.data) - n.synced) / 2
		}
		n.data = n.data[:keep:keep]
	}
	n.synced = len(n.data)
}

// was gives the names in dir as client would have seen them lag ago, newest changes taken back first.
func (s *Store) was(dir *node, client string, lag time.Duration) (names []string, kids []*node) {
	then := &node{dir: true, names: dir.names, kids: dir.kids}
	since, copied := s.now().Add(-lag), false
	for i := len(s.recent) - 1; i >= 0 && s.recent[i].at.After(since); i-- {
		c := s.recent[i]
		if c.by == client || c.src != dir && c.dst != dir {
			continue
		}
		if !copied {
			then.names, then.kids, copied = slices.Clone(dir.names), slices.Clone(dir.kids), true
		}
		if c.dst == dir && then.child(c.dstName) == c.node {
			then.drop(c.dstName)
		}
		if c.src == dir && then.child(c.srcName) == nil {
			then.put(c.srcName, c.node)
		}
	}
	return then.names, then.kids
}
