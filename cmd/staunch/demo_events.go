package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// event is what the check needs to know of an event that was produced.
type event struct {
	user  int32
	cents int32 // -1 for a heartbeat, which the query leaves out
}

// feeder produces the demo's events and remembers them. Event i goes to partition i % demoPartitions and has there the offset
// i / demoPartitions, which the broker's answers confirm.
type feeder struct {
	cl    *kgo.Client
	total int64
	rate  float64 // events per second
	// gate holds the events from this one on back; fast lifts the rate.
	gate atomic.Int64
	fast atomic.Bool
	// acked events are in the topic.
	acked atomic.Int64
	err   atomic.Pointer[error]
	ended chan struct{}
	sent  [demoPartitions][]event
	next  [demoPartitions]int64 // the offset that the next answer must have
}

func newFeeder(ctx context.Context, addr string, total int64, span time.Duration) (*feeder, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(addr), kgo.DefaultProduceTopic(demoTopic), kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(kgo.NoCompression()), kgo.ProducerLinger(5*time.Millisecond), kgo.MaxBufferedRecords(100_000))
	if err != nil {
		return nil, err
	}
	if err := cl.Ping(ctx); err != nil {
		cl.Close()
		return nil, fmt.Errorf("embedded broker at %s: %w", addr, err)
	}
	f := &feeder{cl: cl, total: total, rate: float64(total) / span.Seconds(), ended: make(chan struct{})}
	for p := range f.sent {
		f.sent[p] = make([]event, 0, total/demoPartitions+1)
	}
	return f, nil
}

func (f *feeder) close() { f.cl.Close() }

func (f *feeder) fail(err error) { f.err.CompareAndSwap(nil, &err) }

func (f *feeder) failed() error {
	if e := f.err.Load(); e != nil {
		return fmt.Errorf("produce events: %w", *e)
	}
	return nil
}

// wait waits until all events are in the topic.
func (f *feeder) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-f.ended:
		return f.failed()
	}
}

// run produces all events, a portion every few milliseconds.
func (f *feeder) run(ctx context.Context) {
	defer close(f.ended)
	const every = 20 * time.Millisecond
	tick := time.NewTicker(every)
	defer tick.Stop()
	rng := rand.New(rand.NewPCG(demoSeed, 1))
	i, credit := int64(0), 0.0
	for i < f.total && f.failed() == nil {
		var end int64
		if f.fast.Load() {
			end = min(i+20_000, f.total)
		} else {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			credit += f.rate * every.Seconds()
			n := int64(credit)
			credit -= float64(n)
			end = min(i+n, f.gate.Load(), f.total)
		}
		for ; i < end; i++ {
			f.produce(ctx, rng, i)
		}
	}
	if err := f.cl.Flush(ctx); err != nil {
		f.fail(err)
	}
	if n := f.acked.Load(); n != f.total {
		f.fail(fmt.Errorf("%d of %d events are in the topic", n, f.total))
	}
}

// produce makes event i and sends it.
func (f *feeder) produce(ctx context.Context, rng *rand.Rand, i int64) {
	p := int32(i % demoPartitions)
	value, e := demoEvent(make([]byte, 0, 280), rng, i, f.total)
	f.sent[p] = append(f.sent[p], e)
	f.cl.Produce(ctx, &kgo.Record{Partition: p, Value: value}, f.answer)
}

// answer is called for one event after the other.
func (f *feeder) answer(r *kgo.Record, err error) {
	switch {
	case err != nil:
		f.fail(err)
	case r.Offset != f.next[r.Partition]:
		f.fail(fmt.Errorf("partition %d: an event got offset %d instead of %d", r.Partition, r.Offset, f.next[r.Partition]))
	default:
		f.next[r.Partition]++
		f.acked.Add(1)
	}
}

var (
	demoActions = []string{"page_view", "page_view", "page_view", "page_view", "click", "click", "add_to_cart", "favorite", "buy", "refund"}
	demoDevices = []string{"android", "ios", "web", "mini_program", "tablet"}
	demoStart   = time.Date(2026, 1, 1, 6, 0, 0, 0, time.UTC)
)

// demoSeed makes the events the same in each demo.
const demoSeed = 42

// demoSpan is the event time that all events together take.
const demoSpan = 6 * time.Hour

// demoEvent appends event i of total as JSON. One in fifty is a heartbeat.
func demoEvent(b []byte, rng *rand.Rand, i, total int64) ([]byte, event) {
	e := event{user: rng.Int32N(20_000_000) + 1, cents: rng.Int32N(500_000)}
	item, category := rng.Int64N(50_000_000)+1, rng.Int64N(9000)+1000
	action := demoActions[rng.IntN(len(demoActions))]
	cents := int64(e.cents)
	if rng.IntN(50) == 0 {
		action, e.cents = "heartbeat", -1
	}
	ts := demoStart.Add(time.Duration(float64(demoSpan) * float64(i) / float64(total))).Add(-time.Duration(rng.Int64N(2000)) * time.Millisecond)
	if ts.Before(demoStart) {
		ts = demoStart
	}
	b = append(b, `{"user_id":`...)
	b = strconv.AppendInt(b, int64(e.user), 10)
	b = append(b, `,"item_id":`...)
	b = strconv.AppendInt(b, item, 10)
	b = append(b, `,"category_id":`...)
	b = strconv.AppendInt(b, category, 10)
	b = append(b, `,"action":"`...)
	b = append(b, action...)
	b = append(b, `","amount":`...)
	b = strconv.AppendInt(b, cents/100, 10)
	b = append(b, '.', byte('0'+cents/10%10), byte('0'+cents%10))
	b = append(b, `,"ts":"`...)
	b = ts.AppendFormat(b, "2006-01-02 15:04:05.000")
	b = append(b, `","device":"`...)
	b = append(b, demoDevices[rng.IntN(len(demoDevices))]...)
	b = append(b, `","url":"https://shop.example.com/item/`...)
	b = strconv.AppendInt(b, item, 10)
	b = append(b, `?c=`...)
	b = strconv.AppendInt(b, category, 10)
	b = append(b, `","seq":`...)
	b = strconv.AppendInt(b, i/demoPartitions, 10)
	return append(b, '}'), e
}
