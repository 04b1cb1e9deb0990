package kafka

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/fault"
	"staunch/format"
	"staunch/metric"
)

// The size of a batch: it ends at the first of the two.
const (
	batchRows  = 4096
	batchBytes = 1 << 20
)

// splitState is connector.Split.State of a partition.
type splitState struct {
	Topic     string `json:"topic"`
	Partition int32  `json:"partition"`
	// TopicID tells a topic from a later one of the same name; empty if the cluster has no ids.
	TopicID string `json:"topicId,omitempty"`
	// Stop is the offset at which a bounded read of the partition ends; nil for unbounded.
	Stop *int64 `json:"stop,omitempty"`
	// Epoch is the leader epoch of the last record read, -1 or absent if none: brokers tell from it that a log was cut back.
	Epoch *int32 `json:"epoch,omitempty"`
	// Earliest is set while nothing was read of a partition that starts at its earliest offset: retention may move that offset.
	Earliest bool `json:"earliest,omitempty"`
}

// reader implements connector.Reader.
type reader struct {
	ctx   connector.Context
	src   *source
	cl    *kgo.Client
	f     *fetcher
	dec   format.Decoder
	parts []*part
	// cur is the chunk being read.
	cur     *chunk
	inflate *inflater
	rec     record

	// value are the columns for the decoder, rebuilt for each batch; times and epochs are the rows' metadata where wanted.
	value     []*changelog.Column
	times     []int64
	timeTypes []string
	epochs    []int32
	// splits is what Splits returned last.
	splits []connector.Split
	// seen is for surveys: the greatest time of a record's batch, bytes of values, and whether a transaction wrote any.
	seen struct {
		newest, bytes int64
		transactional bool
	}

	recordsIn, bytesIn, errorsIn, nulls, skippedOffsets *metric.Counter
}

func (s *source) newReader(ctx connector.Context, splits []connector.Split) (*reader, error) {
	dec, err := s.decoder()
	if err != nil {
		return nil, err
	}
	inflate, err := newInflater()
	if err != nil {
		return nil, err
	}
	cl, err := s.client(fmt.Sprintf("%s-%d", s.clientPrefix, ctx.Subtask))
	if err != nil {
		return nil, err
	}
	m := ctx.Metrics
	r := &reader{ctx: ctx, src: s, cl: cl, dec: dec, inflate: inflate,
		recordsIn: m.Counter("numRecordsIn"), bytesIn: m.Counter("numBytesIn"), errorsIn: m.Counter("numRecordsInErrors"),
		nulls: m.Counter("numNullRecords"), skippedOffsets: m.Counter("numSkippedOffsets")}
	r.f = newFetcher(ctx, cl, s.limits)
	m.Gauge("pendingRecords", func() float64 { return float64(r.f.lag()) })
	if err := r.AddSplits(splits); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

// AddSplits implements connector.Reader.
func (r *reader) AddSplits(splits []connector.Split) error {
	var added []*part
	for _, s := range splits {
		p, err := newPart(s, len(r.parts))
		if err != nil {
			return err
		}
		if !r.src.bounded() {
			p.state.Stop, p.fetchStop = nil, -1 // a read that was bounded goes on
		} else if p.state.Stop == nil {
			return fault.Userf("table %s: the state of '%s' was written by a read without end, and 'scan.bounded.mode' is now '%s'", r.src.table.Name, s.ID, r.src.stop).
				WithHint("leave 'scan.bounded.mode' out, or start without this job's state")
		}
		p.maxBytes = r.src.limits.partitionMaxBytes
		p.ended = p.state.Stop != nil && p.pos >= *p.state.Stop
		p.done = p.ended
		r.parts = append(r.parts, p)
		added = append(added, p)
		g := r.ctx.Metrics.With("topic", p.topic, "partition", strconv.Itoa(int(p.partition)))
		g.Gauge("KafkaSourceReader.topic.partition.currentOffset", func() float64 { return float64(p.shownPos.Load() - 1) })
	}
	r.f.add(added)
	return nil
}

func newPart(s connector.Split, index int) (*part, error) {
	p := &part{index: index, pos: s.Position, from: s.Position, fetchPos: s.Position, fetchStop: -1, lastEpoch: -1, leader: -1, leaderEpoch: -1}
	if err := json.Unmarshal(s.State, &p.state); err != nil {
		return nil, fault.New(fault.Damage, "state of split '%s' cannot be read: %v", s.ID, err)
	}
	p.topic, p.partition, p.id = p.state.Topic, p.state.Partition, s.ID
	if s.ID != splitID(p.topic, p.partition) || s.Position < 0 {
		return nil, fault.New(fault.Damage, "split '%s' at %d has the state of '%s'", s.ID, s.Position, splitID(p.topic, p.partition))
	}
	if p.state.TopicID != "" {
		id, err := parseID(p.state.TopicID)
		if err != nil {
			return nil, fault.New(fault.Damage, "state of split '%s': %v", s.ID, err)
		}
		p.topicID = id
	}
	if p.state.Stop != nil {
		p.fetchStop = *p.state.Stop
	}
	if p.state.Epoch != nil {
		p.lastEpoch = *p.state.Epoch
	}
	p.shownPos.Store(p.pos)
	p.end.Store(-1)
	return p, nil
}

func splitID(topic string, partition int32) string { return topic + "-" + strconv.Itoa(int(partition)) }

// Poll implements connector.Reader.
func (r *reader) Poll(b *changelog.Batch) (connector.Status, error) {
	b.Reset()
	for {
		if r.cur == nil {
			if r.ended() {
				return connector.Ended, nil
			}
			c, err := r.f.take()
			if err != nil {
				return connector.Waiting, err
			}
			if c == nil {
				return connector.Waiting, nil
			}
			c.inflate = r.inflate
			r.cur = c
		}
		p := r.cur.p
		before := p.pos
		done, err := r.read(b, r.cur)
		if err != nil {
			return connector.Waiting, err
		}
		if done {
			r.f.release(r.cur)
			r.cur = nil
		}
		if p.pos != before {
			p.shownPos.Store(p.pos)
			p.progress()
			b.Split = p.index
			return connector.More, nil
		}
	}
}

// ended reports whether a bounded source's partitions are all at their ends.
func (r *reader) ended() bool {
	if !r.src.bounded() {
		return false
	}
	for _, p := range r.parts {
		if !p.ended {
			return false
		}
	}
	return true
}

// read appends rows of c to b until the batch is full or the chunk at its end, and moves the partition's position behind what it passed.
func (r *reader) read(b *changelog.Batch, c *chunk) (done bool, err error) {
	p := c.p
	switch {
	case p.ended:
		return true, nil
	case c.err != nil:
		return false, c.err
	case c.lost != nil:
		return true, r.outOfRange(p, *c.lost)
	}
	r.begin(b)
	var bytes int64
	records, first := int64(0), p.pos
	for b.Rows < batchRows && bytes < batchBytes && !done {
		kind, err := c.read(&r.rec)
		if err != nil {
			return false, r.damaged(p, err)
		}
		switch kind {
		case foundNothing:
			r.pass(p, c.next)
			done = true
		case foundEnd:
			r.pass(p, c.batchEnd)
		case foundRecord:
			// a batch may begin before the position, and reach over the partition's end
			if r.rec.offset >= p.pos && r.pass(p, r.rec.offset) {
				records++
				bytes += int64(len(r.rec.value)) + 16
				if err := r.decode(b, p, c); err != nil {
					return false, err
				}
				p.pos++
			}
			if c.finished() {
				r.pass(p, c.batchEnd)
			}
		}
		done = done || r.reachedStop(p)
	}
	if p.pos > first && c.epoch >= 0 {
		p.readUnder(c.epoch)
	}
	r.recordsIn.Add(records)
	r.bytesIn.Add(bytes - 16*records)
	r.seen.bytes += bytes - 16*records
	if records > 0 {
		r.seen.newest = max(r.seen.newest, c.maxTime)
	}
	r.seen.transactional = r.seen.transactional || c.transactional
	r.finish(b, p)
	return done, nil
}

// pass moves the position to offset over offsets that hold no record, at most to the partition's end; it reports whether offset itself is
// still to be read.
func (r *reader) pass(p *part, offset int64) bool {
	to, inside := offset, true
	if p.state.Stop != nil && to >= *p.state.Stop {
		to, inside = *p.state.Stop, false
	}
	if to > p.pos {
		p.gaps += to - p.pos
		p.pos = to
	}
	return inside
}

// reachedStop ends a partition whose position is at its end. The position decides, not a record: the last offsets may be markers of
// transactions, aborted records or holes.
func (r *reader) reachedStop(p *part) bool {
	if p.state.Stop == nil || p.pos < *p.state.Stop {
		return false
	}
	if !p.ended {
		p.ended = true
		r.f.stop(p)
	}
	return true
}

// begin takes the decoder's columns from b.
func (r *reader) begin(b *changelog.Batch) {
	r.value, r.times, r.timeTypes, r.epochs = r.value[:0], r.times[:0], r.timeTypes[:0], r.epochs[:0]
	for i, c := range r.src.columns {
		if c.meta == metaNone {
			r.value = append(r.value, b.Cols[i])
		}
	}
}

// decode appends the current record as one row, or counts why there is none.
func (r *reader) decode(b *changelog.Batch, p *part, c *chunk) error {
	if len(r.rec.value) == 0 {
		p.null++
		r.nulls.Add(1)
		return nil
	}
	skip, err := r.dec.Decode(r.rec.value, r.value)
	if err != nil {
		return r.unreadable(p, err)
	}
	if skip {
		p.rejected++
		r.errorsIn.Add(1)
		return nil
	}
	b.Offsets = append(b.Offsets, r.rec.offset)
	if r.src.wantTime {
		r.times = append(r.times, r.rec.timeMillis)
	}
	if r.src.wantTimeType {
		r.timeTypes = append(r.timeTypes, c.timeType)
	}
	if r.src.wantEpoch {
		r.epochs = append(r.epochs, c.epoch)
	}
	b.Rows++
	return nil
}

// finish appends the metadata columns of all rows at once.
func (r *reader) finish(b *changelog.Batch, p *part) {
	if b.Rows == 0 {
		return
	}
	for i, c := range r.src.columns {
		if c.meta != metaNone {
			c.fill(b.Cols[i], b, p, r)
		}
	}
}

// unreadable is the error of a record that does not parse.
func (r *reader) unreadable(p *part, err error) error {
	head := r.rec.value
	more := ""
	if len(head) > 100 {
		head, more = head[:100], "..."
	}
	r.errorsIn.Add(1)
	e := fault.Userf("topic '%s' partition %d offset %d (%s): the record does not parse: %w; it begins with %q%s", p.topic, p.partition, r.rec.offset,
		time.UnixMilli(r.rec.timeMillis).UTC().Format("2006-01-02T15:04:05.000Z"), err, head, more)
	var bad *format.RecordError
	if errors.As(err, &bad) {
		return e.WithHint("correct the table's columns, or set '%s.ignore-parse-errors' = 'true' to leave such records out (they are counted)", r.src.formatName)
	}
	return e
}

// damaged is the error of a batch that is not what the broker should send.
func (r *reader) damaged(p *part, err error) error {
	return fault.New(fault.Damage, "topic '%s' partition %d at offset %d: the broker sent a damaged batch: %w", p.topic, p.partition, p.pos, err).
		WithHint("check the broker's disk and log; reading goes on from this offset when the job is started again")
}

// outOfRange decides what becomes of a partition whose position the broker does not have (P6).
func (r *reader) outOfRange(p *part, has available) error {
	if p.pos >= has.start && p.pos <= has.end {
		r.f.seek(p, p.pos) // the range changed while it was asked for
		return nil
	}
	if p.pos > has.end {
		return fault.Lostf("topic '%s' partition %d: offset %d is wanted, the broker has %s: its log is shorter than what was read or asked for",
			p.topic, p.partition, p.pos, has).
			WithHint("the topic was cut back, or the wanted offset is of another topic or cluster")
	}
	to, policy := has.start, r.src.reset
	if policy == "latest" && !p.state.Earliest {
		to = has.end
	}
	if p.state.Stop != nil {
		to = min(to, *p.state.Stop)
	}
	if policy == "" && !p.state.Earliest {
		err := fault.Lostf("topic '%s' partition %d: offset %d is wanted, the broker has %s: %d offsets are lost, most likely by retention",
			p.topic, p.partition, p.pos, has, has.start-p.pos).
			WithHint("to go on without them, set 'properties.auto.offset.reset' = 'earliest' (go on at %d) or 'latest' (go on at %d)", has.start, has.end)
		err.Err = &connector.ExpiredError{Split: p.id, From: p.pos, To: has.start, Err: err.Err}
		return err
	}
	p.beginning = &has.start
	if !r.src.rereads {
		r.ctx.Log.Warn("offsets are no longer in the topic and are skipped", "topic", p.topic, "partition", p.partition,
			"from", p.pos, "to", to, "skipped", to-p.pos, "auto.offset.reset", policy)
	}
	r.skippedOffsets.Add(to - p.pos)
	p.skipped += to - p.pos
	p.pos = to
	r.reachedStop(p)
	r.f.seek(p, to)
	return nil
}

// Beginning implements connector.Beginner.
func (r *reader) Beginning(split string) (int64, bool) {
	for _, p := range r.parts {
		if p.id == split && p.beginning != nil {
			return *p.beginning, true
		}
	}
	return 0, false
}

// progress notes that offsets of the partition were passed.
func (p *part) progress() {
	if p.state.Earliest {
		p.state.Earliest, p.stateText = false, nil
	}
}

// readUnder notes the leader epoch of the last record read.
func (p *part) readUnder(epoch int32) {
	if p.state.Epoch == nil || *p.state.Epoch != epoch {
		p.state.Epoch, p.stateText = &epoch, nil
	}
}

// Splits implements connector.Reader. It is cheap: the engine may call it for each batch.
func (r *reader) Splits() []connector.Split {
	r.splits = r.splits[:0]
	for _, p := range r.parts {
		r.splits = append(r.splits, p.split())
	}
	return r.splits
}

func (p *part) split() connector.Split {
	if p.stateText == nil {
		text, err := json.Marshal(p.state)
		if err != nil {
			panic("kafka: split state: " + err.Error()) // strings and numbers always marshal
		}
		p.stateText = text
	}
	return connector.Split{ID: p.id, Position: p.pos, State: p.stateText}
}

// Snapshot implements connector.Reader.
func (r *reader) Snapshot() ([]connector.Split, []account.Range, error) {
	ranges := make([]account.Range, len(r.parts))
	for i, p := range r.parts {
		ranges[i] = account.Range{Split: p.id, From: p.from, To: p.pos, Rejected: p.rejected, Null: p.null, Gaps: p.gaps, Skipped: p.skipped, Origin: p.origin()}
		p.from, p.rejected, p.null, p.gaps, p.skipped = p.pos, 0, 0, 0, 0
	}
	return slices.Clone(r.Splits()), ranges, nil
}

// Lag implements connector.Reader.
func (r *reader) Lag() int64 { return r.f.lag() }

// lag sums the records behind the ends; -1 while an end is not known.
func (f *fetcher) lag() int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	total := int64(0)
	for _, p := range f.parts {
		end := p.end.Load()
		switch {
		case p.done:
			continue
		case end < 0:
			return -1
		case p.fetchStop >= 0:
			end = min(end, p.fetchStop)
		}
		total += max(0, end-p.shownPos.Load())
	}
	return total
}

// Close implements connector.Reader.
func (r *reader) Close() error {
	r.f.close()
	r.cl.Close()
	return nil
}
