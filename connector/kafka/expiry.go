package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"staunch/connector"
)

// expiry implements connector.Expiry.
//
// A broker deletes whole segments, the oldest first, and stops at the first that may stay: with retention.ms one whose greatest record time is
// young enough, with retention.bytes one without which less than so much would be left. So what decides how long the record at an offset stays
// is not its own time, but the greatest time of all records up to it. That is found without reading a record: "which is the first offset with a
// time of t or later" is at or before the position exactly if that greatest time is t or later. A handful of such questions, each one request a
// broker for all partitions, brackets it.
type expiry struct {
	ctx connector.Context
	src *source
	cl  *kgo.Client
	adm *kadm.Client
	// done ends a Look when the client is closed.
	done   context.Context
	cancel context.CancelFunc
}

// The special times of a ListOffsets request.
const (
	atStart   = -2
	atEnd     = -1
	atNewest  = -3
	firstTime = 0
)

// rounds bounds the questions for one time; each halves what is left.
const rounds = 24

// Expiry implements connector.Expiring.
func (s *source) Expiry(ctx connector.Context) (connector.Expiry, error) {
	cl, err := s.client(s.clientPrefix + "-retention-admin-client")
	if err != nil {
		return nil, err
	}
	e := &expiry{ctx: ctx, src: s, cl: cl, adm: kadm.NewClient(cl)}
	e.done, e.cancel = context.WithCancel(context.Background())
	return e, nil
}

// Close implements connector.Expiry.
func (e *expiry) Close() error {
	e.cancel()
	e.cl.Close()
	return nil
}

// aging is one partition while it is asked for.
type aging struct {
	out       *connector.Retention
	topic     string
	partition int32
	stop      *int64
	// past and next bracket the greatest time up to the position: past <= it < next, in milliseconds. base is the oldest time that is kept.
	past, next, base int64
}

// Look implements connector.Expiry.
func (e *expiry) Look(splits []connector.Split) ([]connector.Retention, error) {
	ctx, cancel := context.WithTimeout(e.done, 2*attemptTimeout)
	defer cancel()
	out := make([]connector.Retention, len(splits))
	parts := make([]*aging, len(splits))
	var topics []string
	for i, s := range splits {
		p, err := newPart(s, 0)
		if err != nil {
			return nil, err
		}
		out[i] = connector.Retention{Split: s.ID, Topic: p.topic, Position: s.Position, MaxAge: -1, MaxBytes: -1, SizeBytes: -1}
		switch {
		case e.src.reset != "":
			out[i].Skips = fmt.Sprintf("'properties.auto.offset.reset' = '%s'", e.src.reset)
		case p.state.Earliest:
			out[i].Skips = "it begins at the earliest offset"
		}
		parts[i] = &aging{out: &out[i], topic: p.topic, partition: p.partition}
		if e.src.bounded() {
			parts[i].stop = p.state.Stop
		}
		if !slices.Contains(topics, p.topic) {
			topics = append(topics, p.topic)
		}
	}
	if len(parts) == 0 {
		return out, nil
	}
	if err := e.bounds(ctx, parts); err != nil {
		return nil, noAnswer(e.src, "ask for the retention", 2*attemptTimeout, err)
	}
	if err := e.rules(ctx, topics, parts); err != nil {
		return nil, noAnswer(e.src, "ask for the retention", 2*attemptTimeout, err)
	}
	if err := e.greatest(ctx, parts); err != nil {
		return nil, noAnswer(e.src, "ask for the retention", 2*attemptTimeout, err)
	}
	e.sizes(ctx, parts)
	return out, nil
}

// bounds asks for the first and the last offset. Records of transactions that are still open count, whatever the isolation level: retention takes
// them as well.
func (e *expiry) bounds(ctx context.Context, parts []*aging) error {
	starts, err := e.list(ctx, parts, func(*aging) int64 { return atStart })
	if err != nil {
		return err
	}
	ends, err := e.list(ctx, parts, func(*aging) int64 { return atEnd })
	if err != nil {
		return err
	}
	for i, p := range parts {
		if err := cmp.Or(starts[i].err, ends[i].err); err != nil {
			p.out.NoAnswer = err.Error()
			continue
		}
		p.out.Start, p.out.End = starts[i].offset, ends[i].offset
		if p.stop != nil {
			p.out.End, p.out.Ended = min(p.out.End, *p.stop), p.out.Position >= *p.stop
		}
	}
	return nil
}

// rules reads the topics' settings. A client that may read records need not be allowed to read them.
func (e *expiry) rules(ctx context.Context, topics []string, parts []*aging) error {
	configs, err := e.adm.DescribeTopicConfigs(ctx, topics...)
	if err != nil && len(configs) == 0 && passing(err) {
		return err
	}
	for _, p := range parts {
		c, missing := configs.On(p.topic, nil)
		switch cause := cmp.Or(c.Err, err, missing); {
		case missing == nil && c.Err == nil:
			p.settings(c)
		case errors.Is(cause, kerr.TopicAuthorizationFailed):
			p.out.Unknown = fmt.Sprintf("this client may not read the settings of topic '%s': grant it DESCRIBE_CONFIGS on the topic", p.topic)
		default:
			p.out.Unknown = fmt.Sprintf("the settings of topic '%s' could not be read: %v", p.topic, cause)
		}
	}
	return nil
}

// settings takes a topic's settings.
func (p *aging) settings(c kadm.ResourceConfig) {
	value := map[string]string{}
	for _, kv := range c.Configs {
		value[kv.Key] = kv.MaybeValue()
	}
	policy := strings.Split(value["cleanup.policy"], ",")
	for i := range policy {
		policy[i] = strings.TrimSpace(policy[i])
	}
	p.out.Compacted = slices.Contains(policy, "compact")
	if !slices.Contains(policy, "delete") && value["cleanup.policy"] != "" {
		return // compaction alone: nothing leaves by age or size
	}
	if ms, err := strconv.ParseInt(value["retention.ms"], 10, 64); err == nil && ms >= 0 {
		p.out.MaxAge = time.Duration(min(ms, math.MaxInt64/int64(time.Millisecond))) * time.Millisecond
		p.out.AgeKey = fmt.Sprintf("retention.ms = %d", ms)
	}
	if n, err := strconv.ParseInt(value["retention.bytes"], 10, 64); err == nil && n >= 0 {
		p.out.MaxBytes, p.out.BytesKey = n, fmt.Sprintf("retention.bytes = %d", n)
	}
}

// greatest brackets the greatest time up to the position, to a fiftieth of the time that is left or a small part of what is kept.
func (e *expiry) greatest(ctx context.Context, parts []*aging) error {
	now := e.ctx.Env.Now().UnixMilli()
	var open []*aging
	for _, p := range parts {
		if o := p.out; o.NoAnswer == "" && o.MaxAge >= 0 && o.Position < o.End {
			p.base = now - o.MaxAge.Milliseconds()
			p.past, p.next = p.base, now+1
			o.Time = time.UnixMilli(p.past)
			open = append(open, p)
		}
	}
	for range rounds {
		open = slices.DeleteFunc(open, (*aging).close)
		if len(open) == 0 {
			return nil
		}
		answers, err := e.list(ctx, open, func(p *aging) int64 { return p.past + (p.next-p.past+1)/2 })
		if err != nil {
			return err
		}
		for i, p := range open {
			p.narrow(answers[i])
		}
	}
	return nil
}

// close reports whether the bracket is narrow enough.
func (p *aging) close() bool {
	least := max(100, (p.next-1-p.base)/10_000)
	return p.next-p.past <= max(least, (p.past-p.base)/50)
}

// narrow takes the answer to the question in the middle of the bracket. What is older than the topic keeps counts as just overdue.
func (p *aging) narrow(a listed) {
	asked := p.past + (p.next-p.past+1)/2
	switch {
	case a.err != nil: // what is known already holds
		p.next = p.past
	case a.offset >= 0 && a.offset <= p.out.Position:
		p.past = max(asked, a.millis)
		p.out.Time = time.UnixMilli(p.past)
	default:
		p.next = asked
	}
}

// sizes asks for what bounds by size need. All of it may be refused; then it stays unknown.
func (e *expiry) sizes(ctx context.Context, parts []*aging) {
	var sized []*aging
	set, index := kadm.TopicsSet{}, map[string]*aging{}
	for _, p := range parts {
		if p.out.NoAnswer == "" && p.out.MaxBytes >= 0 {
			sized = append(sized, p)
			set.Add(p.topic, p.partition)
			index[p.out.Split] = p
		}
	}
	if len(sized) == 0 {
		return
	}
	if dirs, err := e.adm.DescribeAllLogDirs(ctx, set); err == nil || len(dirs) > 0 { // of some brokers at least
		dirs.Each(func(d kadm.DescribedLogDir) {
			d.Topics.Each(func(x kadm.DescribedLogDirPartition) {
				if p := index[splitID(x.Topic, x.Partition)]; p != nil && !x.IsFuture {
					p.out.SizeBytes = max(p.out.SizeBytes, x.Size) // the leader's; followers may be behind
				}
			})
		})
	}
	for _, at := range []int64{firstTime, atNewest} {
		answers, err := e.list(ctx, sized, func(*aging) int64 { return at })
		for i, p := range sized {
			if err != nil || answers[i].err != nil || answers[i].offset < 0 || answers[i].millis < 0 {
				continue
			}
			if at == firstTime {
				p.out.Oldest = time.UnixMilli(answers[i].millis)
			} else {
				p.out.Newest = time.UnixMilli(answers[i].millis)
			}
		}
	}
}

// listed is the answer to one question of ListOffsets; offset is -1 if no record is young enough.
type listed struct {
	offset, millis int64
	err            error
}

// list asks the leaders for offsets by time, all partitions at once. The error is about all of them.
func (e *expiry) list(ctx context.Context, parts []*aging, at func(*aging) int64) ([]listed, error) {
	req := kmsg.NewPtrListOffsetsRequest()
	req.ReplicaID = -1
	where := map[string]int{}
	out := make([]listed, len(parts))
	index := make(map[string]int, len(parts))
	for i, p := range parts {
		out[i] = listed{offset: -1, millis: -1, err: errors.New("the brokers do not say who leads the partition")}
		index[splitID(p.topic, p.partition)] = i
		k, ok := where[p.topic]
		if !ok {
			k = len(req.Topics)
			where[p.topic] = k
			t := kmsg.NewListOffsetsRequestTopic()
			t.Topic = p.topic
			req.Topics = append(req.Topics, t)
		}
		rp := kmsg.NewListOffsetsRequestTopicPartition()
		rp.Partition, rp.Timestamp, rp.CurrentLeaderEpoch, rp.MaxNumOffsets = p.partition, at(p), -1, 1
		req.Topics[k].Partitions = append(req.Topics[k].Partitions, rp)
	}
	var failed error
	answered := false
	for _, shard := range e.cl.RequestSharded(ctx, req) {
		if shard.Err != nil {
			failed = shard.Err
			shardFailed(shard, out, index)
			continue
		}
		answered = true
		for _, t := range shard.Resp.(*kmsg.ListOffsetsResponse).Topics {
			for _, p := range t.Partitions {
				if i, ok := index[splitID(t.Topic, p.Partition)]; ok {
					out[i] = listed{offset: p.Offset, millis: p.Timestamp, err: kerr.ErrorForCode(p.ErrorCode)}
				}
			}
		}
	}
	if !answered && failed != nil && passing(failed) {
		return nil, failed
	}
	return out, nil
}

// shardFailed notes why a leader's partitions have no answer.
func shardFailed(shard kgo.ResponseShard, out []listed, index map[string]int) {
	req, ok := shard.Req.(*kmsg.ListOffsetsRequest)
	if !ok {
		return
	}
	for _, t := range req.Topics {
		for _, p := range t.Partitions {
			if i, ok := index[splitID(t.Topic, p.Partition)]; ok {
				out[i].err = shard.Err
			}
		}
	}
}
