package connector

import "context"

// Content is what a source has at one offset.
type Content uint8

// What there is at an offset.
const (
	// Record is a record with a value, Null one without (a tombstone, which most formats make no row of).
	Record Content = iota
	Null
	// Marker is the end of a transaction, Aborted a record of one that was given up: a reader of committed records sees neither.
	Marker
	Aborted
	// Absent: nothing stands there any more, or ever did, though the topic still has offsets before it: compacted away.
	Absent
	// Gone: in front of the first offset that the topic still has; what stood there can no longer be known.
	Gone
	// Open: behind the last offset that is decided (an open transaction, or not yet replicated).
	Open
	// Beyond: the topic has not come to this offset.
	Beyond
)

// String names the content.
func (c Content) String() string {
	return [...]string{"record", "null", "marker", "aborted", "absent", "gone", "open", "beyond"}[c]
}

// PartitionRange is what a topic has of one partition: offsets First <= o < End; those from Decided on are Open.
type PartitionRange struct {
	Partition           int32
	First, Decided, End int64
	// Origin is what the offsets number, as accounts have it (account.Range.Origin); empty if the cluster gives topics no ids.
	Origin string
}

// Inspector tells what a topic holds, for those who compare a table with it. It reads only: no group is joined, nothing is committed. Errors
// have a class: fault.Lost if the topic is not there, fault.Outage if no broker answered in time.
type Inspector interface {
	// Ranges gives the partitions of a topic in ascending order.
	Ranges(ctx context.Context, topic string) ([]PartitionRange, error)
	// Look calls visit for what stands at the offsets from <= o < to: ascending, without a hole, joined where neighbours have the same content.
	Look(ctx context.Context, topic string, partition int32, from, to int64, visit func(from, to int64, what Content)) error
	// Committed gives the offsets that a group has committed for a topic, by partition. What Ranges gives afterwards is not older.
	Committed(ctx context.Context, group, topic string) (map[int32]int64, error)
	Close()
}

// Inspected is a Source that gives an Inspector of what it reads.
type Inspected interface {
	// Inspector asks where the source reads, with the same properties. Nothing is connected yet.
	Inspector() (Inspector, error)
	// Unread says why a partition that the source once found out nothing of may be right; empty if it finds all, new ones too.
	Unread() string
	// Isolation is "read_committed" if records of transactions that were given up are no rows, else "read_uncommitted".
	Isolation() string
}
