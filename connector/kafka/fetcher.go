package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"staunch/connector"
	"staunch/env"
	"staunch/fault"
	"staunch/metric"
)

// part is one partition that a reader reads. The reader's goroutine owns the reading side, the fetcher (under its lock) the fetching side.
type part struct {
	topic     string
	partition int32
	index     int

	// Reading side.
	id    string
	state splitState
	// stateText is state as JSON, nil after a change.
	stateText []byte
	// pos is the consumer's position: all offsets below are accounted for.
	pos int64
	// Counts since the last snapshot, which was at from.
	from                          int64
	rejected, null, gaps, skipped int64
	ended                         bool
	// beginning is the broker's first offset when the position was out of its range last, nil if it never was.
	beginning *int64

	// Fetching side.
	topicID     [16]byte
	fetchPos    int64
	fetchStop   int64
	lastEpoch   int32
	leader      int32
	leaderEpoch int32
	maxBytes    int32
	// busy: a fetch is under way, or the partition waits for its range or its reader's decision about a lost position.
	busy bool
	// done: nothing more is to be fetched.
	done bool
	// notBefore puts the next fetch off after an error; missing is since when the broker does not know the partition.
	notBefore, missing time.Time
	// turn orders the partitions of a request: who got data last comes last.
	turn int64

	// shownPos and end are for metrics: the reader's position, and the end of what can be read (-1 unknown).
	shownPos, end atomic.Int64
}

// chunk is what one fetch brought for one partition, or news about it.
type chunk struct {
	p *part
	batchReader
	// next is the offset behind the chunk: where the next fetch begins.
	next int64
	// bytes counts the chunk against its answer's.
	answer *answer
	// lost is set when the broker does not have the position: the range that it has.
	lost *available
	// err ends the job when the reader comes to it.
	err error
}

// available is the range of offsets that a broker has: start <= o < end.
type available struct{ start, end int64 }

// String names the offsets.
func (a available) String() string {
	if a.start >= a.end {
		return fmt.Sprintf("no offsets below %d", a.end)
	}
	return fmt.Sprintf("offsets %d to %d", a.start, a.end-1)
}

// answer is one fetch response, whose memory lives until all of its chunks are read.
type answer struct {
	leader *leader
	bytes  int64
	chunks int
}

// leader is one broker that leads partitions of the reader.
type leader struct {
	id int32
	// busy: a request is under way (one at a time).
	busy bool
	// held bytes of its answers wait for the reader.
	held      int64
	failures  int
	notBefore time.Time
}

// fetchLimits bound the memory of a fetcher and the work of a request.
type fetchLimits struct {
	// maxBytes is the wanted size of a response, partitionMaxBytes of a partition in it. A single larger batch is still fetched.
	maxBytes, partitionMaxBytes int32
	// bufferBytes is what may be held and under way over all brokers.
	bufferBytes int64
	minBytes    int32
	maxWait     time.Duration
	isolation   int8
	// apiTimeout is how long a partition may be unknown to the brokers before it counts as deleted.
	apiTimeout                time.Duration
	backoffMin, backoffMax    time.Duration
	metadataMaxAge, warnEvery time.Duration
}

// fetcher fetches the partitions of one reader from their leaders, with one request at a time per broker, and hands the answers over in order.
// It asks for more only while what is held stays inside its share of bufferBytes (P9), so that memory is bounded while nobody reads.
type fetcher struct {
	ctx    context.Context
	cancel context.CancelFunc
	env    env.Env
	log    *slog.Logger
	cl     *kgo.Client
	limits fetchLimits
	wake   func()
	signal env.Signal
	active sync.WaitGroup
	// failures counts requests that failed and were repeated.
	failures *metric.Counter

	mu      sync.Mutex
	parts   []*part
	leaders map[int32]*leader
	queue   []*chunk
	head    int
	fatal   error
	closed  bool
	turn    int64
	// needMeta asks for metadata, metaBusy: it is under way.
	needMeta, metaBusy      bool
	metaAt                  time.Time // of the last metadata
	metaNotBefore, warnedAt time.Time
	metaFailures            int
}

func newFetcher(ctx connector.Context, cl *kgo.Client, limits fetchLimits) *fetcher {
	c, cancel := context.WithCancel(context.Background())
	f := &fetcher{ctx: c, cancel: cancel, env: ctx.Env, log: ctx.Log, cl: cl, limits: limits, wake: ctx.Wake,
		signal: ctx.Env.NewSignal(), leaders: map[int32]*leader{}, failures: ctx.Metrics.Counter("KafkaSourceReader.fetchFailures"), needMeta: true}
	f.spawn("kafka fetcher", f.run)
	return f
}

// spawn runs g until close at the latest.
func (f *fetcher) spawn(name string, g func()) {
	f.active.Add(1)
	f.env.Go(name, func() {
		defer f.active.Done()
		g()
	})
}

func (f *fetcher) add(parts []*part) {
	f.mu.Lock()
	f.parts = append(f.parts, parts...)
	f.needMeta = true
	f.mu.Unlock()
	f.signal.Notify()
}

// close ends all requests and waits for their ends.
func (f *fetcher) close() {
	f.mu.Lock()
	f.closed = true
	f.queue, f.head = nil, 0
	f.mu.Unlock()
	f.cancel()
	f.signal.Notify()
	f.active.Wait()
}

// take gives the next chunk, nil if there is none now. An error that ends everything comes when all chunks before it are taken.
func (f *fetcher) take() (*chunk, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.head == len(f.queue) {
		return nil, f.fatal
	}
	c := f.queue[f.head]
	f.queue[f.head] = nil
	f.head++
	if f.head == len(f.queue) {
		f.queue, f.head = f.queue[:0], 0
	}
	return c, nil
}

// release gives a chunk's memory back.
func (f *fetcher) release(c *chunk) {
	if c.answer == nil {
		return
	}
	f.mu.Lock()
	c.answer.chunks--
	last := c.answer.chunks == 0
	if last {
		c.answer.leader.held -= c.answer.bytes
	}
	f.mu.Unlock()
	if last {
		f.signal.Notify()
	}
}

// seek lets the fetching of a partition go on at offset.
func (f *fetcher) seek(p *part, offset int64) {
	f.mu.Lock()
	p.fetchPos, p.busy, p.lastEpoch = offset, false, -1
	f.mu.Unlock()
	f.signal.Notify()
}

// stop ends the fetching of a partition.
func (f *fetcher) stop(p *part) {
	f.mu.Lock()
	p.done = true
	f.mu.Unlock()
}

// run starts what can be started, and waits for a change or the time of the next thing to do.
func (f *fetcher) run() {
	for {
		f.mu.Lock()
		if f.closed || f.fatal != nil {
			f.mu.Unlock()
			return
		}
		now := f.env.Now()
		wait := f.startMetadata(now)
		for _, l := range f.leaders {
			wait = min(wait, f.startFetch(l, now))
		}
		f.mu.Unlock()
		f.signal.Wait(wait)
	}
}

const longWait = time.Hour

// startMetadata asks for metadata when it is due; it returns how long until then. REQUIRES: mu.
func (f *fetcher) startMetadata(now time.Time) time.Duration {
	if len(f.parts) == 0 || f.metaBusy {
		return longWait
	}
	due := f.metaAt.Add(f.limits.metadataMaxAge)
	if f.needMeta {
		due = f.metaNotBefore
	}
	if now.Before(due) {
		return due.Sub(now)
	}
	f.metaBusy, f.needMeta = true, false
	topics := map[string]bool{}
	for _, p := range f.parts {
		topics[p.topic] = true
	}
	f.spawn("kafka metadata", func() { f.metadata(topics) })
	return longWait
}

// metadata asks for the leaders of the topics.
func (f *fetcher) metadata(topics map[string]bool) {
	req := kmsg.NewPtrMetadataRequest()
	for t := range topics {
		rt := kmsg.NewMetadataRequestTopic()
		rt.Topic = kmsg.StringPtr(t)
		req.Topics = append(req.Topics, rt)
	}
	ctx, cancel := context.WithTimeout(f.ctx, attemptTimeout)
	resp, err := req.RequestWith(ctx, f.cl)
	cancel()
	f.mu.Lock()
	defer f.signal.Notify()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	now := f.env.Now()
	f.metaBusy = false
	if err != nil {
		f.metaFailures++
		f.failures.Add(1)
		f.needMeta, f.metaNotBefore = true, now.Add(f.backoff(f.metaFailures))
		f.warn(now, "no Kafka broker answers; waiting for it", "error", err)
		return
	}
	if f.metaFailures > 0 {
		f.log.Info("Kafka answers again")
	}
	f.metaFailures, f.metaAt, f.metaNotBefore = 0, now, now.Add(f.limits.backoffMin)
	byName := map[string]*kmsg.MetadataResponseTopic{}
	for i := range resp.Topics {
		if t := &resp.Topics[i]; t.Topic != nil {
			byName[*t.Topic] = t
		}
	}
	for _, p := range f.parts {
		f.lead(p, byName[p.topic], now)
	}
}

// lead takes the leader of p from a topic's metadata. REQUIRES: mu.
func (f *fetcher) lead(p *part, t *kmsg.MetadataResponseTopic, now time.Time) {
	if p.done {
		return
	}
	var cause error = kerr.UnknownTopicOrPartition
	if t != nil {
		cause = kerr.ErrorForCode(t.ErrorCode)
		if cause == nil && t.TopicID != p.topicID && p.topicID != noID && t.TopicID != noID {
			f.fail(recreated(p, t.TopicID, p.fetchPos))
			return
		}
		for i := range t.Partitions {
			if tp := &t.Partitions[i]; cause == nil && tp.Partition == p.partition {
				f.found(p, tp, now)
				return
			}
		}
		if cause == nil {
			cause = kerr.UnknownTopicOrPartition
		}
	}
	f.needMeta = true
	p.leader = -1
	if errors.Is(cause, kerr.TopicAuthorizationFailed) {
		f.fail(notAllowed(p.topic))
		return
	}
	f.missing(p, now, cause)
}

// found notes a partition's leader. REQUIRES: mu.
func (f *fetcher) found(p *part, tp *kmsg.MetadataResponseTopicPartition, now time.Time) {
	if tp.Leader < 0 {
		f.needMeta = true
		p.leader = -1
		f.warn(now, "partition has no leader; waiting for one", "topic", p.topic, "partition", p.partition)
		return
	}
	p.missing = time.Time{}
	if tp.LeaderEpoch >= p.leaderEpoch || p.leader < 0 {
		p.leader, p.leaderEpoch = tp.Leader, tp.LeaderEpoch
	}
	if f.leaders[p.leader] == nil {
		f.leaders[p.leader] = &leader{id: p.leader}
	}
}

// missing notes that the brokers do not know the partition: an answer that a broker gives for a while after it started, and for ever after a
// topic was deleted. REQUIRES: mu.
func (f *fetcher) missing(p *part, now time.Time, cause error) {
	if p.missing.IsZero() {
		p.missing = now
	}
	if now.Sub(p.missing) >= f.limits.apiTimeout {
		f.fail(deleted(p, cause, now.Sub(p.missing)))
		return
	}
	f.warn(now, "the brokers do not know the partition; waiting", "topic", p.topic, "partition", p.partition, "error", cause)
}

// fail ends the fetching; the reader returns err after the chunks before. REQUIRES: mu.
func (f *fetcher) fail(err error) {
	if f.fatal == nil {
		f.fatal = err
		f.wake()
	}
}

// warn logs at most one warning in warnEvery. REQUIRES: mu.
func (f *fetcher) warn(now time.Time, msg string, args ...any) {
	if !f.warnedAt.IsZero() && now.Sub(f.warnedAt) < f.limits.warnEvery {
		return
	}
	f.warnedAt = now
	f.log.Warn(msg, args...)
}

func (f *fetcher) backoff(failures int) time.Duration {
	d := f.limits.backoffMin
	for range min(failures-1, 10) {
		d *= 2
	}
	return min(d, f.limits.backoffMax)
}

// startFetch sends a fetch request to l if there is something to fetch and room for it; it returns how long until there might be. REQUIRES: mu.
func (f *fetcher) startFetch(l *leader, now time.Time) time.Duration {
	if l.busy {
		return longWait
	}
	if wait := l.notBefore.Sub(now); wait > 0 {
		return wait
	}
	share := f.limits.bufferBytes / int64(len(f.leaders))
	room := min(int64(f.limits.maxBytes), max(share/2, 1<<16))
	if l.held > 0 && l.held+room > share {
		return longWait
	}
	wait := longWait
	var parts []*part
	for _, p := range f.parts {
		if p.leader != l.id || p.busy || p.done {
			continue
		}
		if p.fetchStop >= 0 && p.fetchPos >= p.fetchStop {
			continue
		}
		if d := p.notBefore.Sub(now); d > 0 {
			wait = min(wait, d)
			continue
		}
		parts = append(parts, p)
	}
	if len(parts) == 0 {
		return wait
	}
	slices.SortStableFunc(parts, func(a, b *part) int { return cmp.Compare(a.turn, b.turn) })
	req := f.request(parts, int32(room))
	for _, p := range parts {
		p.busy = true
	}
	l.busy = true
	f.spawn("kafka fetch", func() { f.fetch(l, req, parts) })
	return wait
}

// fetchWithoutIDs is a fetch request in the newest version that names topics: for clusters that give topics no id.
type fetchWithoutIDs struct{ *kmsg.FetchRequest }

// MaxVersion implements kmsg.Request.
func (fetchWithoutIDs) MaxVersion() int16 { return 12 }

// request makes the fetch request for parts, without a fetch session. REQUIRES: mu.
func (f *fetcher) request(parts []*part, room int32) kmsg.Request {
	req := kmsg.NewPtrFetchRequest()
	req.ReplicaID, req.ReplicaState.ID = -1, -1
	req.MaxWaitMillis, req.MinBytes, req.MaxBytes = int32(f.limits.maxWait.Milliseconds()), f.limits.minBytes, room
	req.IsolationLevel = f.limits.isolation
	req.SessionID, req.SessionEpoch = 0, -1
	index := map[string]int{}
	ids := true
	for _, p := range parts {
		i, ok := index[p.topic]
		if !ok {
			i = len(req.Topics)
			index[p.topic] = i
			t := kmsg.NewFetchRequestTopic()
			t.Topic, t.TopicID = p.topic, p.topicID
			req.Topics = append(req.Topics, t)
			ids = ids && p.topicID != noID
		}
		rp := kmsg.NewFetchRequestTopicPartition()
		rp.Partition, rp.FetchOffset, rp.CurrentLeaderEpoch, rp.LastFetchedEpoch = p.partition, p.fetchPos, p.leaderEpoch, p.lastEpoch
		rp.PartitionMaxBytes = p.maxBytes
		req.Topics[i].Partitions = append(req.Topics[i].Partitions, rp)
	}
	if !ids {
		return fetchWithoutIDs{req}
	}
	return req
}

// fetch runs one request and hands over its answer.
func (f *fetcher) fetch(l *leader, req kmsg.Request, parts []*part) {
	r, err := f.cl.Broker(int(l.id)).Request(f.ctx, req)
	resp, _ := r.(*kmsg.FetchResponse)
	if err == nil && resp == nil {
		err = fmt.Errorf("unexpected answer %T", r)
	}
	if err == nil {
		err = kerr.ErrorForCode(resp.ErrorCode)
	}
	f.mu.Lock()
	defer f.signal.Notify()
	defer f.mu.Unlock()
	l.busy = false
	if f.closed {
		return
	}
	now := f.env.Now()
	if err != nil {
		l.failures++
		f.failures.Add(1)
		l.notBefore = now.Add(f.backoff(l.failures))
		f.needMeta = true
		for _, p := range parts {
			p.busy = false
		}
		f.warn(now, "Kafka broker does not answer; waiting for it", "broker", l.id, "error", err)
		return
	}
	if l.failures > 0 {
		f.log.Info("Kafka broker answers again", "broker", l.id)
	}
	l.failures = 0
	f.accept(l, resp, parts, now)
}

// accept takes an answer apart. REQUIRES: mu.
func (f *fetcher) accept(l *leader, resp *kmsg.FetchResponse, parts []*part, now time.Time) {
	a := &answer{leader: l}
	hint := 0 // answers mostly have the order of the request
	for i := range resp.Topics {
		t := &resp.Topics[i]
		for j := range t.Partitions {
			rp := &t.Partitions[j]
			is := func(p *part) bool {
				return p != nil && p.partition == rp.Partition && (p.topic == t.Topic || t.TopicID != noID && p.topicID == t.TopicID)
			}
			k := hint
			if k >= len(parts) || !is(parts[k]) {
				if k = slices.IndexFunc(parts, is); k < 0 {
					continue
				}
			}
			hint = k + 1
			p := parts[k]
			parts[k] = nil
			f.acceptPart(p, rp, a, now)
		}
	}
	for _, p := range parts { // what the answer left out
		if p != nil {
			p.busy, p.notBefore = false, now.Add(f.limits.backoffMin)
		}
	}
	l.held += a.bytes
	if a.chunks > 0 {
		f.wake()
	}
}

// acceptPart takes one partition of an answer. REQUIRES: mu.
func (f *fetcher) acceptPart(p *part, rp *kmsg.FetchResponseTopicPartition, a *answer, now time.Time) {
	p.busy = false
	if rp.DivergingEpoch.EndOffset >= 0 && rp.ErrorCode == 0 {
		p.busy = true
		f.push(&chunk{p: p, err: truncated(p, rp.DivergingEpoch.EndOffset)})
		return
	}
	switch err := kerr.ErrorForCode(rp.ErrorCode); {
	case err == nil:
		f.acceptData(p, rp, a)
	case errors.Is(err, kerr.OffsetOutOfRange):
		p.busy = true
		leader, epoch := p.leader, p.leaderEpoch
		f.spawn("kafka offsets", func() { f.resolve(p, leader, epoch) })
	case errors.Is(err, kerr.TopicAuthorizationFailed):
		f.fail(notAllowed(p.topic))
	case errors.Is(err, kerr.UnknownTopicOrPartition), errors.Is(err, kerr.UnknownTopicID), errors.Is(err, kerr.InconsistentTopicID):
		// whether the topic is gone is for the metadata to say
		f.needMeta = true
		p.notBefore = now.Add(f.backoff(2))
		f.missing(p, now, err)
	default:
		f.needMeta = true
		p.notBefore = now.Add(f.limits.backoffMin)
		f.failures.Add(1)
		if !kerr.IsRetriable(err) {
			p.notBefore = now.Add(f.limits.backoffMax)
			f.warn(now, "partition cannot be fetched; trying again", "topic", p.topic, "partition", p.partition, "offset", p.fetchPos, "error", err)
		}
	}
}

// acceptData queues fetched batches. REQUIRES: mu.
func (f *fetcher) acceptData(p *part, rp *kmsg.FetchResponseTopicPartition, a *answer) {
	p.missing = time.Time{}
	end := rp.HighWatermark
	if f.limits.isolation == 1 && rp.LastStableOffset >= 0 {
		end = rp.LastStableOffset
	}
	p.end.Store(end)
	if len(rp.RecordBatches) == 0 {
		return
	}
	next, need := behind(rp.RecordBatches, p.fetchPos)
	if need > 0 { // a batch larger than the limit came cut off
		p.maxBytes = int32(min(int64(need), 1<<30))
		return
	}
	p.maxBytes = f.limits.partitionMaxBytes
	f.turn++
	p.turn = f.turn
	c := &chunk{p: p, next: next, answer: a}
	c.rest = rp.RecordBatches
	if f.limits.isolation == 1 {
		c.aborted = newAborted(rp.AbortedTransactions)
	}
	a.bytes += int64(len(rp.RecordBatches))
	a.chunks++
	p.fetchPos = next
	p.lastEpoch = lastEpoch(rp.RecordBatches, p.lastEpoch)
	f.queue = append(f.queue, c)
}

// push queues news and wakes the reader. REQUIRES: mu.
func (f *fetcher) push(c *chunk) {
	f.queue = append(f.queue, c)
	f.wake()
}

// resolve finds the range that the broker has of a partition whose position it refused, and hands it to the reader, who decides. If that fails
// the partition is fetched again, and refused again.
func (f *fetcher) resolve(p *part, leader, epoch int32) {
	start, err := f.listOffset(leader, p, epoch, -2)
	var end int64
	if err == nil {
		end, err = f.listOffset(leader, p, epoch, -1)
	}
	f.mu.Lock()
	defer f.signal.Notify()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	if err == nil {
		f.push(&chunk{p: p, lost: &available{start: start, end: end}})
		return
	}
	now := f.env.Now()
	p.busy, p.notBefore, f.needMeta = false, now.Add(f.limits.backoffMax), true
	f.warn(now, "range of the partition is not known; asking again", "topic", p.topic, "partition", p.partition, "error", err)
}

// listOffset asks broker id for the offset at a time: -2 the start, -1 the end.
func (f *fetcher) listOffset(id int32, p *part, epoch int32, at int64) (int64, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	rt := kmsg.NewListOffsetsRequestTopic()
	rt.Topic = p.topic
	rp := kmsg.NewListOffsetsRequestTopicPartition()
	rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch, rp.MaxNumOffsets = p.partition, at, epoch, 1
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	ctx, cancel := context.WithTimeout(f.ctx, attemptTimeout)
	defer cancel()
	r, err := f.cl.Broker(int(id)).Request(ctx, req)
	if err != nil {
		return 0, err
	}
	resp := r.(*kmsg.ListOffsetsResponse)
	if len(resp.Topics) != 1 || len(resp.Topics[0].Partitions) != 1 {
		return 0, errors.New("answer without the partition")
	}
	got := resp.Topics[0].Partitions[0]
	return got.Offset, kerr.ErrorForCode(got.ErrorCode)
}

// noID is the topic id of clusters that have none.
var noID [16]byte

// topic deleted, created anew, or forbidden.

func deleted(p *part, cause error, since time.Duration) error {
	return fault.Lostf("topic '%s': no broker knows partition %d any more (%v for %s); it was deleted while offsets from %d on were still to be read",
		p.topic, p.partition, cause, since.Round(time.Second), p.fetchPos).
		WithHint("bring the topic back from a copy, or start without this job's state to read another one")
}

func recreated(p *part, now [16]byte, at int64) error {
	return fault.Lostf("topic '%s' was deleted and created again: its id was %s and is now %s; partition %d stood at offset %d of the old topic",
		p.topic, idText(p.topicID), idText(now), p.partition, at).
		WithHint("what the old topic held from that offset on is gone; to read the new topic, start without this job's state")
}

func notAllowed(topic string) error {
	return fault.Userf("topic '%s': the broker does not allow to read or describe it", topic).WithHint("grant READ and DESCRIBE on the topic to this client")
}

func truncated(p *part, end int64) error {
	return fault.Lostf("topic '%s' partition %d: offset %d is wanted, after records of leader epoch %d, but that epoch ends at offset %d on the broker: its log is shorter than what was read",
		p.topic, p.partition, p.fetchPos, p.lastEpoch, end).
		WithHint("the broker lost acknowledged records (an unclean leader election?): what was read from offset %d on is no longer in the topic", end)
}
