package datanode

import (
	"cmp"
	"context"
	"net"
	"time"

	"staunch/fault"
)

// Options are the settings of a client. The zero value of a field stands for its default.
type Options struct {
	// Client is the name under which the NameNode knows the lease's holder. It is required.
	Client string
	// BlockSize is the length at which a block ends, in bytes, a multiple of ChunkSize (dfs.blocksize); 128 MiB. It must be the file's.
	BlockSize uint64
	// ChunkSize is how many bytes have one checksum (dfs.bytes-per-checksum); 512.
	ChunkSize int
	// Checksum is the kind to write (dfs.checksum.type); CRC32C. NoChecksum asks for none.
	Checksum   Checksum
	NoChecksum bool
	// UseHostname reaches DataNodes by name (dfs.client.use.datanode.hostname).
	UseHostname bool
	// Connect is the longest time that making a connection takes; 10 s.
	Connect time.Duration
	// Silence is how long a pipeline may owe an answer before its nodes are asked one by one which of them is alive; 10 s.
	Silence time.Duration
	// Answer is how long it may owe one at all (dfs.client.socket-timeout); 60 s, and 5 s more for each node of the pipeline.
	Answer time.Duration
	// Heartbeat is the pause after which an idle pipeline is told that the writer lives; 20 s. DataNodes drop one that is silent for a minute.
	Heartbeat time.Duration
	// Patience is how long a new block is tried on other nodes, and how long the NameNode may find a finished file not replicated yet; 60 s.
	Patience time.Duration
	// Window is how many packets of 64 KiB may be on their way; 16.
	Window int
	// Suspects are shared by all files of a client; nil: this file has its own.
	Suspects *Suspects
	// Dial makes a connection; TCP.
	Dial func(addr string, timeout time.Duration) (net.Conn, error)
}

// packetSize is about how many bytes a packet carries.
const packetSize = 64 << 10

// PacketBytes is about the most that a file holds while its store keeps up: a packet that is filled, two on their way.
const PacketBytes = 3 * packetSize

// answerPerNode is what a node downstream adds to the time of an answer, as in Hadoop's client.
const answerPerNode = 5 * time.Second

// complete fills in defaults and checks.
func (o *Options) complete() error {
	o.BlockSize = cmp.Or(o.BlockSize, 128<<20)
	o.ChunkSize = cmp.Or(o.ChunkSize, 512)
	o.Checksum = cmp.Or(o.Checksum, ChecksumCRC32C)
	o.Connect = cmp.Or(o.Connect, 10*time.Second)
	o.Silence = cmp.Or(o.Silence, 10*time.Second)
	o.Answer = cmp.Or(o.Answer, 60*time.Second)
	o.Heartbeat = cmp.Or(o.Heartbeat, 20*time.Second)
	o.Patience = cmp.Or(o.Patience, 60*time.Second)
	o.Window = cmp.Or(o.Window, 16)
	if o.NoChecksum {
		o.Checksum = ChecksumNone
	}
	if o.Dial == nil {
		o.Dial = dialTCP
	}
	o.Suspects = cmp.Or(o.Suspects, &Suspects{})
	if o.ChunkSize < 1 || o.ChunkSize > 1<<20 {
		return fault.Userf("dfs.bytes-per-checksum = %d: it must be between 1 and 1048576", o.ChunkSize)
	}
	if o.BlockSize%uint64(o.ChunkSize) != 0 || o.BlockSize > 1<<62 {
		return fault.Userf("dfs.blocksize = %d: it must be a multiple of dfs.bytes-per-checksum = %d", o.BlockSize, o.ChunkSize)
	}
	return nil
}

func dialTCP(addr string, timeout time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: timeout}
	return d.DialContext(context.Background(), "tcp", addr)
}

// packetData is how many bytes a full packet carries: whole chunks.
func (o *Options) packetData() int { return max(1, packetSize/o.ChunkSize) * o.ChunkSize }

// answer is the longest time that n nodes may take.
func (o *Options) answer(n int) time.Duration { return o.Answer + time.Duration(n)*answerPerNode }

func (o *Options) addr(n Node) string {
	if o.UseHostname || n.IP == "" {
		return n.HostAddr()
	}
	return n.Addr()
}
