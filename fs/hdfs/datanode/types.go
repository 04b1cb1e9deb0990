package datanode

import (
	"net"
	"strconv"
)

// Block names a block: ExtendedBlockProto.
type Block struct {
	// Pool is the block pool's id.
	Pool string
	// ID is the block's number in the pool; Generation grows with each recovery of its pipeline.
	ID, Generation uint64
	// Length is in bytes: what the sender of the message knows of it.
	Length uint64
}

// Token is the access token of one block (hadoop.common.TokenProto), passed on as it came. Nil where the cluster uses none.
type Token []byte

// StorageType is the kind of disk a replica lies on (StorageTypeProto). The numbers are Hadoop's.
type StorageType uint64

// Disk is the storage type that stands for an absent one.
const Disk StorageType = 1

// Node is a DataNode together with the storage that holds, or will hold, the replica.
type Node struct {
	// Raw is the DatanodeInfoProto as it came; it is passed on unchanged.
	Raw []byte
	// IP, Host and Port are where it takes the Data Transfer Protocol.
	IP, Host string
	Port     uint32
	// UUID is the DataNode's identity, StorageID that of one of its disks.
	UUID, StorageID string
	StorageType     StorageType
}

// Addr is the node's address by its IP, which is also how other nodes call it.
func (n Node) Addr() string { return net.JoinHostPort(n.IP, strconv.FormatUint(uint64(n.Port), 10)) }

// HostAddr is the node's address by its name, for clients that do not reach the IP (dfs.client.use.datanode.hostname).
func (n Node) HostAddr() string {
	if n.Host == "" {
		return n.Addr()
	}
	return net.JoinHostPort(n.Host, strconv.FormatUint(uint64(n.Port), 10))
}

// Located is a block with its place in the file and where it lies: LocatedBlockProto.
type Located struct {
	Block Block
	// Offset is where the block begins in the file, in bytes.
	Offset uint64
	// Nodes hold a replica, the nearest first; for a new block they are the pipeline in its order.
	Nodes []Node
	Token Token
	// Corrupt: the NameNode knows that no replica is good.
	Corrupt bool
}

// File is what the NameNode tells about a file's blocks: LocatedBlocksProto.
type File struct {
	// Length is the file's length without a last block that is being written.
	Length uint64
	// Blocks are in order and without gap. A last one that is being written may be missing here and stand in Last.
	Blocks []Located
	// UnderConstruction: somebody has the file open for writing, or had and its lease was not recovered.
	UnderConstruction bool
	// Last is the last block, nil in an empty file.
	Last *Located
	// LastComplete: Last's length is final.
	LastComplete bool
	// Encrypted: the file lies in an encryption zone. Erasure: it is erasure coded. Neither can be read here.
	Encrypted, Erasure bool
}

// Namespace is what the writer of one file needs of the NameNode. Each call has its own deadline and its own patience with outages and
// failovers; an error is final for the file unless it says otherwise here. Calls come one at a time.
type Namespace interface {
	// AddBlock allocates the file's next block. previous is the block before with its final length, or nil. exclude are nodes that failed.
	// Called again with the same previous after a lost reply, it may give the same block. It waits while the NameNode does not have previous
	// on enough nodes yet.
	AddBlock(previous *Block, exclude []Node) (Located, error)
	// AbandonBlock gives back a block to which no byte was written.
	AbandonBlock(b Block) error
	// UpdateBlockForPipeline gives a new generation stamp (in the result's Block) and token for a block whose pipeline failed.
	UpdateBlockForPipeline(b Block) (Located, error)
	// UpdatePipeline tells which nodes go on with the block; old and fresh differ in Generation only.
	UpdatePipeline(old, fresh Block, nodes []Node) error
	// Complete closes the file, whose last block is last (nil: an empty file). False: not on enough nodes yet, ask again.
	Complete(last *Block) (bool, error)
}

// Locator is what the reader of one file needs of the NameNode.
type Locator interface {
	// Locate gives the blocks of the whole file (getBlockLocations from 0 to the end).
	Locate() (File, error)
}
