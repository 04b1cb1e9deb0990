//go:build peer

package hdfs

import (
	"bufio"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os/user"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
)

// The old protocol's one call that Staunch does not have: a recursive delete. It is sent as the Go client of the incident's time sent it: on a
// connection of its own, and after a lost answer the application asks again under a new call id, so that the NameNode's retry cache knows
// nothing of the first one. (Hadoop's Java client keeps the id; then the same happens when the cache has forgotten it, by default after ten
// minutes.)

// errStandby is the answer of a NameNode that is not active.
var errStandby = errors.New("standby")

// oldDelete asks the NameNode at addr to delete a folder with everything in it. An error that is not errStandby means that nobody knows.
func oldDelete(addr, dir string) error {
	c, err := net.DialTimeout("tcp", addr, limit)
	if err != nil {
		return err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	client := make([]byte, 16)
	if _, err := rand.Read(client); err != nil {
		return err
	}
	me, err := user.Current()
	if err != nil {
		return err
	}
	who := field(nil, 2, field(nil, 1, []byte(me.Username)))
	who = field(who, 3, []byte("org.apache.hadoop.hdfs.protocol.ClientProtocol"))
	call := field(nil, 1, []byte("delete"))
	call = field(call, 2, []byte("org.apache.hadoop.hdfs.protocol.ClientProtocol"))
	call = protowire.AppendVarint(protowire.AppendTag(call, 3, protowire.VarintType), 1)
	what := field(nil, 1, []byte(dir))
	what = protowire.AppendVarint(protowire.AppendTag(what, 2, protowire.VarintType), 1) // recursive
	out := []byte{'h', 'r', 'p', 'c', 9, 0, 0}
	out = frame(out, header(client, -3), who)
	out = frame(out, header(client, 7), call, what)
	if _, err := c.Write(out); err != nil {
		return err
	}
	r := bufio.NewReader(c)
	var n uint32
	if err := binary.Read(r, binary.BigEndian, &n); err != nil {
		return fmt.Errorf("delete %s: no answer: %w", dir, err)
	}
	reply := make([]byte, n)
	if _, err := io.ReadFull(r, reply); err != nil {
		return err
	}
	return answer(reply)
}

// header is an RPC request's header: protocol buffers, final packet, call id, client id, first try.
func header(client []byte, id int64) []byte {
	b := protowire.AppendVarint(protowire.AppendTag(nil, 1, protowire.VarintType), 2)
	b = protowire.AppendVarint(protowire.AppendTag(b, 2, protowire.VarintType), 0)
	b = protowire.AppendVarint(protowire.AppendTag(b, 3, protowire.VarintType), protowire.EncodeZigZag(id))
	return field(b, 4, client)
}

func field(b []byte, n protowire.Number, v []byte) []byte {
	return protowire.AppendBytes(protowire.AppendTag(b, n, protowire.BytesType), v)
}

// frame appends messages, each with its length, behind the length of all.
func frame(b []byte, messages ...[]byte) []byte {
	var body []byte
	for _, m := range messages {
		body = protowire.AppendBytes(body, m)
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(body))), body...)
}

// answer reads the status and the exception of a reply.
func answer(reply []byte) error {
	head, n := protowire.ConsumeBytes(reply)
	if n < 0 {
		return protowire.ParseError(n)
	}
	status, class, text := uint64(0), "", ""
	for len(head) > 0 {
		num, typ, n := protowire.ConsumeTag(head)
		if n < 0 {
			return protowire.ParseError(n)
		}
		head = head[n:]
		m := protowire.ConsumeFieldValue(num, typ, head)
		if m < 0 {
			return protowire.ParseError(m)
		}
		switch v := head[:m]; {
		case num == 2:
			status, _ = protowire.ConsumeVarint(v)
		case num == 4 || num == 5:
			b, _ := protowire.ConsumeBytes(v)
			if num == 4 {
				class = string(b)
			} else {
				text = string(b)
			}
		}
		head = head[m:]
	}
	switch {
	case status == 0:
		return nil
	case class == "org.apache.hadoop.ipc.StandbyException":
		return errStandby
	}
	return fmt.Errorf("%s: %s", class, text)
}
