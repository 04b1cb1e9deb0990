package kafka

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"staunch/config"
	"staunch/connector"
	"staunch/fault"
)

// inspector implements connector.Inspector. It reads one partition at a time, with fetch requests of its own; questions in ascending order read every
// batch once. Use from one goroutine.
type inspector struct {
	servers string
	limits  fetchLimits
	cl      *kgo.Client
	adm     *kadm.Client
	inflate *inflater
	// patience is how long brokers may be away.
	patience time.Duration
	ids      map[string][16]byte
	ranges   map[string][]connector.PartitionRange
	at       *readUpTo
}

// readUpTo is where reading of one partition has come to.
type readUpTo struct {
	topic     string
	partition int32
	leader    int32
	epoch     int32
	batches   batchReader
	// fetched: batches hold all that stands from there on, up to behind.
	from, behind int64
	// segments are the contents of the offsets segFrom <= o < segTo, the last batch that was opened.
	segments       []segment
	segFrom, segTo int64
}

// segment are offsets with one content.
type segment struct {
	from, to int64
	what     connector.Content
}

// inspectBytes is how much is fetched at once.
const inspectBytes = 8 << 20

// NewInspector makes an Inspector of the brokers; properties are of Kafka's Java clients, "key=value". Nothing is connected yet.
func NewInspector(servers string, properties []string) (connector.Inspector, error) {
	raw := map[string]string{"properties.bootstrap.servers": servers}
	for _, p := range properties {
		k, v, ok := strings.Cut(p, "=")
		if !ok || k == "" {
			return nil, fault.Userf("a property of Kafka's client is written key=value, not %q", p)
		}
		raw["properties."+k] = v
	}
	if err := validServers(servers); err != nil {
		return nil, fault.Userf("brokers %q: %w", servers, err)
	}
	return newInspector(connector.Table{Name: "the audited one", Options: config.NewValues("broker", raw, nil)})
}

func newInspector(t connector.Table) (*inspector, error) {
	p, err := newProperties(t)
	if err != nil {
		return nil, err
	}
	in := &inspector{servers: strings.Join(p.servers, ","), limits: p.limits, patience: p.limits.apiTimeout, ids: map[string][16]byte{},
		ranges: map[string][]connector.PartitionRange{}}
	if in.inflate, err = newInflater(); err != nil {
		return nil, err
	}
	if in.cl, err = p.client("staunch-audit"); err != nil {
		return nil, err
	}
	in.adm = kadm.NewClient(in.cl)
	return in, nil
}

// Close implements connector.Inspector.
func (in *inspector) Close() { in.cl.Close() }

// retry repeats f while brokers are away, for at most the patience.
func (in *inspector) retry(ctx context.Context, what string, f func(context.Context) error) error {
	begin := time.Now()
	for n := 0; ; n++ {
		once, cancel := context.WithTimeout(ctx, min(in.patience, 2*attemptTimeout))
		err := f(once)
		cancel()
		var classified *fault.Error
		switch {
		case err == nil || errors.As(err, &classified):
			return err
		case ctx.Err() != nil:
			return ctx.Err()
		case !passing(err):
			return fault.Userf("%s on %s: %w", what, in.servers, err)
		case time.Since(begin) >= in.patience:
			return fault.New(fault.Outage, "%s: no useful answer from %s within %s: %w", what, in.servers, in.patience, err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(min(in.limits.backoffMin<<min(n, 10), in.limits.backoffMax)):
		}
	}
}

// Ranges implements connector.Inspector.
func (in *inspector) Ranges(ctx context.Context, topic string) ([]connector.PartitionRange, error) {
	if r, ok := in.ranges[topic]; ok {
		return r, nil
	}
	var out []connector.PartitionRange
	err := in.retry(ctx, "ask for topic "+topic, func(ctx context.Context) error {
		out = nil
		leaders, id, err := in.leaders(ctx, topic)
		if err != nil {
			return err
		}
		in.ids[topic] = id
		origin := ""
		if id != noID {
			origin = originPrefix + idText(id)
		}
		lists := [3]kadm.ListedOffsets{}
		for i, ask := range []func(context.Context, ...string) (kadm.ListedOffsets, error){in.adm.ListStartOffsets, in.adm.ListCommittedOffsets, in.adm.ListEndOffsets} {
			if lists[i], err = ask(ctx, topic); err == nil {
				err = lists[i].Error()
			}
			if err != nil {
				return err
			}
		}
		for _, p := range slices.Sorted(maps.Keys(leaders)) {
			var at [3]int64
			for i, l := range lists {
				o, ok := l.Lookup(topic, p)
				if !ok {
					return kerr.UnknownTopicOrPartition
				}
				at[i] = o.Offset
			}
			out = append(out, connector.PartitionRange{Partition: p, First: at[0], Decided: at[1], End: at[2], Origin: origin})
		}
		return nil
	})
	if err == nil {
		in.ranges[topic] = out
	}
	return out, err
}

// leaders asks for a topic's partitions and who leads them. That there is no such topic is an error of class Lost.
func (in *inspector) leaders(ctx context.Context, topic string) (map[int32]kmsg.MetadataResponseTopicPartition, [16]byte, error) {
	req := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	req.Topics = append(req.Topics, t)
	resp, err := req.RequestWith(ctx, in.cl)
	if err != nil {
		return nil, noID, err
	}
	out := map[int32]kmsg.MetadataResponseTopicPartition{}
	for _, t := range resp.Topics {
		switch err := kerr.ErrorForCode(t.ErrorCode); {
		case errors.Is(err, kerr.UnknownTopicOrPartition) || errors.Is(err, kerr.InvalidTopicException):
			return nil, noID, fault.Lostf("%s knows no topic %q", in.servers, topic)
		case errors.Is(err, kerr.TopicAuthorizationFailed):
			return nil, noID, notAllowed(topic)
		case err != nil:
			return nil, noID, err
		}
		for _, p := range t.Partitions {
			out[p.Partition] = p
		}
		return out, t.TopicID, nil
	}
	return nil, noID, fault.Lostf("%s knows no topic %q", in.servers, topic)
}

// Committed implements connector.Inspector.
func (in *inspector) Committed(ctx context.Context, group, topic string) (map[int32]int64, error) {
	out := map[int32]int64{}
	err := in.retry(ctx, "ask for the offsets of group "+group, func(ctx context.Context) error {
		r, err := in.adm.FetchOffsetsForTopics(ctx, group, topic)
		if err == nil {
			err = r.Error()
		}
		if errors.Is(err, kerr.GroupIDNotFound) {
			return nil
		}
		if err != nil {
			return err
		}
		r.Offsets().Each(func(o kadm.Offset) {
			if o.Topic == topic && o.At >= 0 {
				out[o.Partition] = o.At
			}
		})
		return nil
	})
	delete(in.ranges, topic) // the topic may have grown up to what was committed
	return out, err
}

// Look implements connector.Inspector.
func (in *inspector) Look(ctx context.Context, topic string, partition int32, from, to int64, visit func(from, to int64, what connector.Content)) error {
	ranges, err := in.Ranges(ctx, topic)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(ranges, func(r connector.PartitionRange) bool { return r.Partition == partition })
	if i < 0 {
		return fault.Lostf("topic %s has no partition %d", topic, partition)
	}
	r := ranges[i]
	v := &joiner{visit: visit}
	from = v.upTo(from, min(to, r.First), connector.Gone)
	for stop := min(to, r.Decided); from < stop; {
		s, err := in.segment(ctx, topic, partition, from, r.Decided)
		if errors.Is(err, kerr.OffsetOutOfRange) { // retention went on
			delete(in.ranges, topic)
			if ranges, err = in.Ranges(ctx, topic); err == nil && ranges[i].First > from {
				from = v.upTo(from, min(to, ranges[i].First), connector.Gone)
				continue
			}
			if err == nil {
				err = fault.Lostf("topic %s partition %d has not offset %d, which it had when the audit began: it was made anew, or cut back", topic, partition, from)
			}
		}
		if err != nil {
			return err
		}
		from = v.upTo(from, min(stop, s.to), s.what)
	}
	from = v.upTo(from, min(to, r.End), connector.Open)
	v.upTo(from, to, connector.Beyond)
	v.flush()
	return nil
}

// joiner joins neighbours of the same content.
type joiner struct {
	visit func(from, to int64, what connector.Content)
	open  segment
}

// upTo takes in from <= o < to, if there is any, and gives what comes next.
func (j *joiner) upTo(from, to int64, what connector.Content) int64 {
	if from >= to {
		return from
	}
	if j.open.from < j.open.to && (j.open.what != what || j.open.to != from) {
		j.flush()
	}
	if j.open.from == j.open.to {
		j.open = segment{from, to, what}
	}
	j.open.to = to
	return to
}

func (j *joiner) flush() {
	if j.open.from < j.open.to {
		j.visit(j.open.from, j.open.to, j.open.what)
	}
	j.open = segment{}
}

// segment gives what stands at an offset below decided, and up to where it is the same.
func (in *inspector) segment(ctx context.Context, topic string, partition int32, at, decided int64) (segment, error) {
	l := in.at
	if l == nil || l.topic != topic || l.partition != partition || at < l.from || at < l.segFrom {
		l = &readUpTo{topic: topic, partition: partition, leader: -1, from: at, behind: at}
		in.at = l
	}
	for {
		if at >= l.segFrom && at < l.segTo {
			k, _ := slices.BinarySearchFunc(l.segments, at, func(s segment, at int64) int {
				if s.to <= at {
					return -1
				}
				return 1
			})
			return l.segments[k], nil
		}
		done, err := l.next(at, in.inflate)
		if err != nil {
			return segment{}, fmt.Errorf("topic %s partition %d: %w", topic, partition, err)
		}
		if !done {
			continue
		}
		if at < l.behind { // no batch has it: compacted
			l.segments, l.segFrom, l.segTo = append(l.segments[:0], segment{at, l.behind, connector.Absent}), at, l.behind
			continue
		}
		if err := in.fetch(ctx, l, at, decided); err != nil {
			return segment{}, err
		}
	}
}

// next opens the next batch that ends behind at; done if there is none.
func (l *readUpTo) next(at int64, inflate *inflater) (done bool, err error) {
	c := &l.batches
	for {
		n, whole := span(c.rest)
		if !whole {
			return true, nil
		}
		b := c.rest[:n]
		base, end := int64(binary.BigEndian.Uint64(b)), int64(0)
		control, transactional := false, false
		if b[atMagic] >= 2 && n >= batchHeader {
			end = base + int64(int32(binary.BigEndian.Uint32(b[atLastDelta:]))) + 1
			attributes := binary.BigEndian.Uint16(b[atAttributes:])
			control, transactional = attributes>>5&1 == 1, attributes>>4&1 == 1
		}
		if end > 0 && end <= at && !control { // not asked for; markers are read for what they end
			c.rest = c.rest[n:]
			continue
		}
		if base > at && l.segTo <= at { // nothing stands in front of this batch
			l.segments, l.segFrom, l.segTo = append(l.segments[:0], segment{at, base, connector.Absent}), at, base
			return false, nil
		}
		c.rest = c.rest[n:]
		c.inflate = inflate
		if err := c.open(b); err != nil {
			return false, err
		}
		if c.batchEnd <= at {
			continue
		}
		return false, l.contents(control, transactional && !control && c.isAborted(int64(binary.BigEndian.Uint64(b[atProducerID:]))))
	}
}

// contents notes what the open batch holds.
func (l *readUpTo) contents(control, aborted bool) error {
	c := &l.batches
	l.segments, l.segFrom, l.segTo = l.segments[:0], c.base, c.batchEnd
	switch {
	case control:
		l.put(c.base, c.batchEnd, connector.Marker)
	case aborted:
		l.put(c.base, c.batchEnd, connector.Aborted)
	default:
		at := c.base
		for !c.finished() {
			var r record
			if _, err := c.read(&r); err != nil {
				return err
			}
			if r.offset < at || r.offset >= c.batchEnd {
				return fmt.Errorf("batch at offset %d has a record at %d behind %d", c.base, r.offset, at-1)
			}
			l.put(at, r.offset, connector.Absent)
			what := connector.Record
			if r.value == nil {
				what = connector.Null
			}
			l.put(r.offset, r.offset+1, what)
			at = r.offset + 1
		}
		l.put(at, c.batchEnd, connector.Absent)
	}
	return nil
}

func (l *readUpTo) put(from, to int64, what connector.Content) {
	if from >= to {
		return
	}
	if n := len(l.segments); n > 0 && l.segments[n-1].what == what {
		l.segments[n-1].to = to
		return
	}
	l.segments = append(l.segments, segment{from, to, what})
}

// emptyAnswers is how often a broker must say, with growing waits between, that a partition has nothing from an offset on, until it is believed.
const emptyAnswers = 5

// fetch reads on at an offset below decided. Something stands there or behind it, so that an answer without batches is asked for again. In the end it is
// believed of a compacted topic only: one answer without batches must not make records disappear.
func (in *inspector) fetch(ctx context.Context, l *readUpTo, at, decided int64) error {
	maxBytes, empty := int32(inspectBytes), 0
	return in.retry(ctx, fmt.Sprintf("read topic %s partition %d", l.topic, l.partition), func(ctx context.Context) error {
		if l.leader < 0 {
			leaders, id, err := in.leaders(ctx, l.topic)
			if err != nil {
				return err
			}
			if have := in.ids[l.topic]; id != have {
				return fault.Lostf("topic %s was deleted and made anew while the audit ran", l.topic)
			}
			p, ok := leaders[l.partition]
			if !ok || p.Leader < 0 {
				return kerr.LeaderNotAvailable
			}
			l.leader, l.epoch = p.Leader, p.LeaderEpoch
		}
		rp, err := in.request(ctx, l, at, maxBytes)
		if err == nil {
			err = kerr.ErrorForCode(rp.ErrorCode)
		}
		if errors.Is(err, kerr.OffsetOutOfRange) {
			return &outOfRange{}
		}
		if err != nil {
			l.leader = -1
			return err
		}
		next, need := behind(rp.RecordBatches, at)
		if next <= at {
			maxBytes = int32(min(max(int64(need), 2*int64(maxBytes)), 1<<30))
			if rp.LastStableOffset < decided || len(rp.RecordBatches) > 0 {
				return kerr.RequestTimedOut
			}
			l.leader = -1 // perhaps another one leads by now
			if empty++; empty < emptyAnswers {
				return kerr.RequestTimedOut
			}
			if err := in.mayEndEmpty(ctx, l, at, decided); err != nil {
				return err
			}
			next = decided // what is left was compacted away
		}
		l.batches = batchReader{rest: rp.RecordBatches, aborted: newAborted(rp.AbortedTransactions)}
		l.from, l.behind = at, next
		l.segFrom, l.segTo = 0, 0
		return nil
	})
}

// mayEndEmpty reports an error unless compaction can have removed the last offsets of a partition.
func (in *inspector) mayEndEmpty(ctx context.Context, l *readUpTo, at, decided int64) error {
	configs, err := in.adm.DescribeTopicConfigs(ctx, l.topic)
	if err != nil && len(configs) == 0 && passing(err) {
		return err
	}
	c, missing := configs.On(l.topic, nil)
	policy, why := "", "compaction does not remove them either: cleanup.policy is "
	if err := cmp.Or(c.Err, missing, err); err != nil {
		why = "whether it is a compacted topic cannot be told: " + err.Error()
	}
	for _, kv := range c.Configs {
		if kv.Key == "cleanup.policy" {
			policy = kv.MaybeValue()
		}
	}
	for p := range strings.SplitSeq(policy, ",") {
		if strings.TrimSpace(p) == "compact" {
			return nil
		}
	}
	return fault.New(fault.Damage, "the broker says that offsets up to %d are there, and %d times that nothing stands from %d on; %s%s", decided-1, emptyAnswers, at, why, policy)
}

// outOfRange passes retry as it is.
type outOfRange struct{}

func (*outOfRange) Error() string { return kerr.OffsetOutOfRange.Message }
func (*outOfRange) Unwrap() error { return kerr.OffsetOutOfRange }

// request sends one fetch request under read_committed, whose answer names the aborted transactions.
func (in *inspector) request(ctx context.Context, l *readUpTo, at int64, maxBytes int32) (*kmsg.FetchResponseTopicPartition, error) {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.ReplicaState.ID = -1, -1
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = 500, 1, maxBytes
	req.IsolationLevel = 1
	req.SessionID, req.SessionEpoch = 0, -1
	t := kmsg.NewFetchRequestTopic()
	t.Topic, t.TopicID = l.topic, in.ids[l.topic]
	p := kmsg.NewFetchRequestTopicPartition()
	p.Partition, p.FetchOffset, p.CurrentLeaderEpoch, p.LastFetchedEpoch, p.PartitionMaxBytes = l.partition, at, l.epoch, -1, maxBytes
	t.Partitions = append(t.Partitions, p)
	req.Topics = append(req.Topics, t)
	var ask kmsg.Request = req
	if t.TopicID == noID {
		ask = fetchWithoutIDs{req}
	}
	r, err := in.cl.Broker(int(l.leader)).Request(ctx, ask)
	if err != nil {
		return nil, err
	}
	resp, ok := r.(*kmsg.FetchResponse)
	if !ok {
		return nil, fmt.Errorf("unexpected answer %T", r)
	}
	if err := kerr.ErrorForCode(resp.ErrorCode); err != nil {
		return nil, err
	}
	for i := range resp.Topics {
		for j := range resp.Topics[i].Partitions {
			if rp := &resp.Topics[i].Partitions[j]; rp.Partition == l.partition {
				return rp, nil
			}
		}
	}
	return nil, kerr.UnknownTopicOrPartition
}
