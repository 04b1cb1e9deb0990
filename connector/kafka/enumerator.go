package kafka

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"staunch/config"
	"staunch/connector"
	"staunch/env"
	"staunch/fault"
	"staunch/metric"
)

// enumeratorState is what Enumerator.Snapshot keeps.
type enumeratorState struct {
	// Started: the first discovery is done; partitions found from then on start at their earliest offset.
	Started bool `json:"started"`
}

// enumerator implements connector.Enumerator.
type enumerator struct {
	ctx   connector.Context
	src   *source
	cl    *kgo.Client
	adm   *kadm.Client
	state enumeratorState
	// asked: the first discovery of this attempt was tried.
	asked bool
	// unnamed topics were warned of.
	unnamed map[string]bool

	commitsSucceeded, commitsFailed *metric.Counter
	// commitWarned is when a failed commit was last told of.
	commitWarned time.Time
	committed    map[string]*committedOffset
}

// committedOffset feeds the metric of one partition.
type committedOffset struct{ counter *metric.Counter }

func (s *source) newEnumerator(ctx connector.Context, state []byte) (*enumerator, error) {
	e := &enumerator{ctx: ctx, src: s, committed: map[string]*committedOffset{}, unnamed: map[string]bool{},
		commitsSucceeded: ctx.Metrics.Counter("KafkaSourceReader.commitsSucceeded"),
		commitsFailed:    ctx.Metrics.Counter("KafkaSourceReader.commitsFailed")}
	if state != nil {
		if err := json.Unmarshal(state, &e.state); err != nil {
			return nil, fault.New(fault.Damage, "state of the Kafka source of table %s cannot be read: %v", s.table.Name, err)
		}
	}
	for _, w := range s.warnings {
		ctx.Log.Warn(w)
	}
	cl, err := s.client(s.clientPrefix + "-enumerator-admin-client")
	if err != nil {
		return nil, err
	}
	e.cl, e.adm = cl, kadm.NewClient(cl)
	return e, nil
}

// Interval implements connector.Enumerator: the partitions of a bounded read are fixed at its start.
func (e *enumerator) Interval() time.Duration {
	if e.src.bounded() {
		return 0
	}
	return e.src.discovery
}

// Assign implements connector.Enumerator with Flink's arithmetic (KafkaSourceEnumerator.getSplitOwner), so that partitions lie as they would there.
func (e *enumerator) Assign(s connector.Split, n int) int {
	var st splitState
	if err := json.Unmarshal(s.State, &st); err != nil {
		i := strings.LastIndexByte(s.ID, '-')
		p, _ := strconv.Atoi(s.ID[i+1:])
		st.Topic, st.Partition = s.ID[:max(i, 0)], int32(p)
	}
	return assign(st.Topic, st.Partition, n)
}

func assign(topic string, partition int32, n int) int {
	start := int((hashCode(topic) * 31 & 0x7fffffff)) % n
	return (start + int(partition)) % n
}

// hashCode is Java's String.hashCode.
func hashCode(s string) (h int32) {
	for _, u := range utf16.Encode([]rune(s)) {
		h = 31*h + int32(u)
	}
	return h
}

// Snapshot implements connector.Enumerator.
func (e *enumerator) Snapshot() ([]byte, error) { return json.Marshal(e.state) }

// Close implements connector.Enumerator.
func (e *enumerator) Close() error {
	e.cl.Close()
	return nil
}

// Discover implements connector.Enumerator. The first discovery of a job waits for the brokers as long as properties.default.api.timeout.ms
// says and fails then; a later one that finds them away leaves it to the next.
func (e *enumerator) Discover(known []connector.Split) ([]connector.Split, error) {
	later := e.state.Started || len(known) > 0
	limit := e.src.limits.apiTimeout
	if e.asked {
		limit = min(limit, attemptTimeout)
	}
	e.asked = true
	splits, err := e.discover(known, later, limit)
	if err != nil && later && fault.ClassOf(err) == fault.Outage {
		e.ctx.Log.Warn("looking for new partitions failed; they are looked for again later", "table", e.src.table.Name, "error", err)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if !e.state.Started { // later discoveries run beside Snapshot
		e.state.Started = true
	}
	return splits, nil
}

func (e *enumerator) discover(known []connector.Split, later bool, limit time.Duration) ([]connector.Split, error) {
	var topics kadm.TopicDetails
	err := e.retry(limit, "look for the topics", func(ctx context.Context) (err error) {
		topics, err = e.topics(ctx, later)
		return err
	})
	if err != nil {
		return nil, err
	}
	have := map[string]bool{}
	for _, s := range known {
		have[s.ID] = true
		if err := e.sameTopic(s, topics); err != nil {
			return nil, err
		}
		e.stillWanted(s)
	}
	found := splitsOf(topics, have)
	if len(found) == 0 {
		return nil, nil
	}
	start, stop := e.src.start, e.src.stop
	if later {
		start = "earliest-offset"
	}
	at, err := e.offsets("scan.startup", start, found, limit)
	if err != nil {
		return nil, err
	}
	ends, err := e.offsets("scan.bounded", stop, found, limit)
	if err != nil {
		return nil, err
	}
	splits := make([]connector.Split, len(found))
	for i, s := range found {
		s.Earliest = start == "earliest-offset"
		if ends != nil {
			s.Stop = &ends[i]
		}
		state, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		splits[i] = connector.Split{ID: splitID(s.Topic, s.Partition), Position: at[i], State: state}
	}
	return splits, nil
}

// splitsOf are the topics' partitions but those whose ids are in have.
func splitsOf(topics kadm.TopicDetails, have map[string]bool) (out []*splitState) {
	for _, t := range topics.Sorted() {
		for _, p := range t.Partitions.Sorted() {
			if !have[splitID(t.Topic, p.Partition)] {
				out = append(out, &splitState{Topic: t.Topic, Partition: p.Partition, TopicID: idText(t.ID)})
			}
		}
	}
	return out
}

// sameTopic checks that a known split's topic was not created anew meanwhile.
func (e *enumerator) sameTopic(s connector.Split, topics kadm.TopicDetails) error {
	p, err := newPart(s, 0)
	if err != nil {
		return err
	}
	t, ok := topics[p.topic]
	if ok && t.Err == nil && p.topicID != noID && t.ID != noID && p.topicID != t.ID {
		return recreated(p, t.ID, p.pos)
	}
	return nil
}

// stillWanted warns, once a topic, of a split whose topic the table does not name any more. As in Flink it is read on: leaving it out would leave
// a hole in what the state says was read.
func (e *enumerator) stillWanted(s connector.Split) {
	var st splitState
	if json.Unmarshal(s.State, &st) != nil || e.unnamed[st.Topic] {
		return
	}
	if e.src.pattern != nil && e.src.pattern.MatchString(st.Topic) || slices.Contains(e.src.topics, st.Topic) {
		return
	}
	e.unnamed[st.Topic] = true
	e.ctx.Log.Warn("the table does not name a topic that the job's state has; it is read on", "table", e.src.table.Name, "topic", st.Topic)
}

// topics asks for the topics to read.
func (e *enumerator) topics(ctx context.Context, later bool) (kadm.TopicDetails, error) {
	if e.src.pattern != nil {
		all, err := e.listTopics(ctx)
		if err != nil {
			return nil, err
		}
		all.FilterInternal()
		maps.DeleteFunc(all, func(name string, _ kadm.TopicDetail) bool { return !e.src.pattern.MatchString(name) })
		if len(all) == 0 && !later {
			if e.Interval() <= 0 {
				return nil, fault.Userf("table %s: no topic matches '%s'", e.src.table.Name, e.src.table.Options.String("topic-pattern"))
			}
			e.ctx.Log.Warn("no topic matches yet", "table", e.src.table.Name, "topic-pattern", e.src.table.Options.String("topic-pattern"))
		}
		return all, firstError(all)
	}
	named, err := e.listTopics(ctx, e.src.topics...)
	if err != nil {
		return nil, err
	}
	for _, name := range e.src.topics {
		t, ok := named[name]
		switch {
		case !ok || errors.Is(t.Err, kerr.UnknownTopicOrPartition):
			if later {
				delete(named, name) // the readers know since when it is missing
				continue
			}
			return nil, e.noTopic(ctx, name)
		case errors.Is(t.Err, kerr.TopicAuthorizationFailed):
			return nil, notAllowed(name)
		case errors.Is(t.Err, kerr.InvalidTopicException):
			return nil, fault.Userf("table %s: '%s' is no possible topic name", e.src.table.Name, name)
		case t.Err != nil:
			return nil, t.Err
		}
	}
	return named, nil
}

// listTopics asks for the named topics, or all. kadm's own call would answer out of a cache.
func (e *enumerator) listTopics(ctx context.Context, names ...string) (kadm.TopicDetails, error) {
	req := kmsg.NewPtrMetadataRequest()
	for _, name := range names {
		t := kmsg.NewMetadataRequestTopic()
		t.Topic = kmsg.StringPtr(name)
		req.Topics = append(req.Topics, t)
	}
	resp, err := req.RequestWith(ctx, e.cl)
	if err != nil {
		return nil, err
	}
	out := kadm.TopicDetails{}
	for _, t := range resp.Topics {
		if t.Topic == nil {
			continue
		}
		d := kadm.TopicDetail{Topic: *t.Topic, ID: t.TopicID, IsInternal: t.IsInternal, Partitions: kadm.PartitionDetails{}, Err: kerr.ErrorForCode(t.ErrorCode)}
		for _, p := range t.Partitions {
			d.Partitions[p.Partition] = kadm.PartitionDetail{Topic: d.Topic, Partition: p.Partition, Leader: p.Leader, Err: kerr.ErrorForCode(p.ErrorCode)}
		}
		out[d.Topic] = d
	}
	return out, nil
}

func firstError(topics kadm.TopicDetails) error {
	for _, t := range topics.Sorted() {
		if t.Err != nil {
			return fmt.Errorf("topic '%s': %w", t.Topic, t.Err)
		}
		for _, p := range t.Partitions.Sorted() {
			if p.Err != nil && !errors.Is(p.Err, kerr.ReplicaNotAvailable) && !errors.Is(p.Err, kerr.LeaderNotAvailable) {
				return fmt.Errorf("topic '%s' partition %d: %w", t.Topic, p.Partition, p.Err)
			}
		}
	}
	return nil
}

// noTopic is the error for a topic that does not exist.
func (e *enumerator) noTopic(ctx context.Context, name string) error {
	err := fault.Userf("table %s: topic '%s' does not exist on %s", e.src.table.Name, name, strings.Join(e.src.servers, ","))
	all, listErr := e.listTopics(ctx)
	if listErr != nil {
		return err
	}
	if near, ok := config.Nearest(name, all.Names()); ok {
		return err.WithHint("did you mean '%s'?", near)
	}
	if len(all) == 0 {
		return err.WithHint("there are no topics on it, or this client may not see them")
	}
	return err.WithHint("create it, or correct 'topic'")
}

// offsets resolves a start or bounded mode for splits; nil for unbounded.
func (e *enumerator) offsets(scan, mode string, splits []*splitState, limit time.Duration) ([]int64, error) {
	var out []int64
	err := e.retry(limit, "ask for offsets", func(ctx context.Context) (err error) {
		out, err = e.resolver(ctx, scan, splits).resolve(mode, splits)
		return err
	})
	return out, err
}

// resolver asks the brokers for offsets.
type resolver struct {
	e      *enumerator
	ctx    context.Context
	scan   string
	topics []string
}

// resolver asks for offsets of splits. scan is the option that says which, empty if none does.
func (e *enumerator) resolver(ctx context.Context, scan string, splits []*splitState) *resolver {
	r := &resolver{e: e, ctx: ctx, scan: scan}
	for _, s := range splits {
		if !slices.Contains(r.topics, s.Topic) {
			r.topics = append(r.topics, s.Topic)
		}
	}
	return r
}

func (r *resolver) resolve(mode string, splits []*splitState) ([]int64, error) {
	src := r.e.src
	switch mode {
	case "earliest-offset":
		return r.listed(splits, r.e.adm.ListStartOffsets)
	case "latest-offset":
		return r.end(splits)
	case "timestamp":
		millis := src.startMillis
		if r.scan == "scan.bounded" {
			millis = src.stopMillis
		}
		return r.byTime(splits, millis)
	case "group-offsets":
		return r.group(splits)
	case "specific-offsets":
		if r.scan == "scan.bounded" {
			return r.stopAt(splits)
		}
		return r.startAt(splits)
	}
	return nil, nil
}

type lister func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error)

func (r *resolver) listed(splits []*splitState, list lister) ([]int64, error) {
	all, err := list(r.ctx, r.topics...)
	if err != nil {
		return nil, err
	}
	out := make([]int64, len(splits))
	for i, s := range splits {
		o, ok := all.Lookup(s.Topic, s.Partition)
		if !ok {
			return nil, fmt.Errorf("topic '%s' partition %d: %w", s.Topic, s.Partition, kerr.UnknownTopicOrPartition)
		}
		if o.Err != nil {
			return nil, fmt.Errorf("topic '%s' partition %d: %w", s.Topic, s.Partition, o.Err)
		}
		out[i] = o.Offset
	}
	return out, nil
}

// end is the end of what the isolation level can read: under read_committed the last stable offset, as Java's consumer has it.
func (r *resolver) end(splits []*splitState) ([]int64, error) {
	if r.e.src.limits.isolation == 1 {
		return r.listed(splits, r.e.adm.ListCommittedOffsets)
	}
	return r.listed(splits, r.e.adm.ListEndOffsets)
}

// byTime gives the first offsets at or after a time, or the ends. The ends are asked for first: a record that arrives between the two questions
// must not be passed over.
func (r *resolver) byTime(splits []*splitState, millis int64) ([]int64, error) {
	ends, err := r.end(splits)
	if err != nil {
		return nil, err
	}
	out, err := r.listed(splits, func(ctx context.Context, topics ...string) (kadm.ListedOffsets, error) {
		return r.e.adm.ListOffsetsAfterMilli(ctx, millis, topics...)
	})
	for i := range out {
		out[i] = min(out[i], ends[i])
	}
	return out, err
}

// committed gives the group's offsets, -1 where it has none.
func (r *resolver) committed(splits []*splitState) ([]int64, error) {
	out := make([]int64, len(splits))
	got, err := r.e.adm.FetchOffsetsForTopics(r.ctx, r.e.src.group, r.topics...)
	if err != nil {
		return nil, err
	}
	for i, s := range splits {
		out[i] = -1
		if o, ok := got.Lookup(s.Topic, s.Partition); ok {
			if o.Err != nil {
				return nil, fmt.Errorf("topic '%s' partition %d: %w", s.Topic, s.Partition, o.Err)
			}
			out[i] = o.At
		}
	}
	return out, nil
}

// group is mode group-offsets: partitions without a committed offset follow properties.auto.offset.reset, which must be there for them.
func (r *resolver) group(splits []*splitState) ([]int64, error) {
	out, err := r.committed(splits)
	if err != nil {
		return nil, err
	}
	src := r.e.src
	reset := src.reset
	if r.scan == "scan.bounded" {
		reset = ""
	}
	return r.fill(out, splits, reset, func(s *splitState) error {
		err := fault.Userf("table %s: group '%s' has no committed offset for topic '%s' partition %d, and '%s.mode' is group-offsets", src.table.Name,
			src.group, s.Topic, s.Partition, r.scan)
		if r.scan == "scan.bounded" {
			return err.WithHint("choose another '%s.mode'", r.scan)
		}
		return err.WithHint("set 'properties.auto.offset.reset' = 'earliest' (or 'latest') for such partitions, or 'scan.startup.mode' = 'earliest-offset'")
	})
}

// startAt is mode specific-offsets: other partitions start where the group stands, or at the earliest offset, as in Flink.
func (r *resolver) startAt(splits []*splitState) ([]int64, error) {
	out := slices.Repeat([]int64{-1}, len(splits))
	if r.e.src.group != "" {
		var err error
		if out, err = r.committed(splits); err != nil {
			return nil, err
		}
	}
	if err := r.named(splits, out, r.e.src.startAt); err != nil {
		return nil, err
	}
	return r.fill(out, splits, "earliest", nil)
}

// stopAt is bounded mode specific-offsets: each partition must be named.
func (r *resolver) stopAt(splits []*splitState) ([]int64, error) {
	out := slices.Repeat([]int64{-1}, len(splits))
	if err := r.named(splits, out, r.e.src.stopAt); err != nil {
		return nil, err
	}
	return r.fill(out, splits, "", func(s *splitState) error {
		return fault.Userf("table %s: 'scan.bounded.specific-offsets' does not name partition %d of topic '%s'", r.e.src.table.Name, s.Partition, s.Topic).
			WithHint("name the end of each partition")
	})
}

// named puts the offsets that the user named into out.
func (r *resolver) named(splits []*splitState, out []int64, at map[int32]int64) error {
	left := maps.Clone(at)
	for i, s := range splits {
		if o, ok := at[s.Partition]; ok {
			out[i] = o
			delete(left, s.Partition)
		}
	}
	if len(left) > 0 {
		return fault.Userf("table %s: '%s.specific-offsets' names partitions %v, which topic '%s' does not have", r.e.src.table.Name, r.scan,
			slices.Sorted(maps.Keys(left)), strings.Join(r.topics, ";"))
	}
	return nil
}

// fill replaces -1 by what reset says, or fails.
func (r *resolver) fill(out []int64, splits []*splitState, reset string, missing func(*splitState) error) ([]int64, error) {
	i := slices.Index(out, -1)
	if i < 0 {
		return out, nil
	}
	var from []int64
	var err error
	switch reset {
	case "earliest":
		from, err = r.listed(splits, r.e.adm.ListStartOffsets)
	case "latest":
		from, err = r.end(splits)
	default:
		return nil, missing(splits[i])
	}
	for i := range out {
		if err == nil && out[i] < 0 {
			out[i] = from[i]
		}
	}
	return out, err
}

// retry repeats f while brokers are away or not ready, for at most limit; then the error is an outage that names them.
func (e *enumerator) retry(limit time.Duration, what string, f func(context.Context) error) error {
	begin := e.ctx.Env.Now()
	var cause error
	for n := 1; ; n++ {
		ctx, cancel := context.WithTimeout(context.Background(), min(limit, attemptTimeout))
		err := f(ctx)
		cancel()
		var classified *fault.Error
		if err == nil || errors.As(err, &classified) {
			return err
		}
		if !passing(err) {
			return fault.Userf("table %s: %s on %s: %w", e.src.table.Name, what, strings.Join(e.src.servers, ","), err)
		}
		if cause == nil || !errors.Is(err, context.DeadlineExceeded) {
			cause = err // the end of the time says less than what was before
		}
		if spent := e.ctx.Env.Now().Sub(begin); spent >= limit {
			return noAnswer(e.src, what, limit, cause)
		}
		wait := e.src.limits.backoffMin << min(n, 10)
		env.Sleep(e.ctx.Env, min(wait, e.src.limits.backoffMax))
	}
}

// noAnswer is the error when the brokers were away for too long.
func noAnswer(s *source, what string, limit time.Duration, err error) error {
	f := fault.New(fault.Outage, "table %s: %s: no useful answer from %s within %s: %w", s.table.Name, what, strings.Join(s.servers, ","), limit, err)
	if errors.Is(err, io.EOF) {
		return f.WithHint("the broker closes the connection: check that 'properties.security.protocol' is the one of this port, and user and password if there are any")
	}
	return f.WithHint("check 'properties.bootstrap.servers' and that the brokers run; 'properties.default.api.timeout.ms' is how long to wait")
}

// passing reports errors that may go away by themselves: all but refusals and certificates that do not verify.
func passing(err error) bool {
	var ke *kerr.Error
	if errors.As(err, &ke) {
		return ke.Retriable
	}
	var auth *kadm.AuthError
	var cert *tls.CertificateVerificationError
	var authority x509.UnknownAuthorityError
	var host x509.HostnameError
	var invalid x509.CertificateInvalidError
	return !errors.As(err, &auth) && !errors.As(err, &cert) && !errors.As(err, &authority) && !errors.As(err, &host) && !errors.As(err, &invalid)
}

// Committed implements connector.Enumerator: it commits the offsets to the consumer group, for lag tools and for hand-over only.
func (e *enumerator) Committed(splits []connector.Split) error {
	if !e.src.commit || len(splits) == 0 {
		return nil
	}
	offsets := kadm.Offsets{}
	for _, s := range splits {
		p, err := newPart(s, 0)
		if err != nil {
			return err
		}
		offsets.AddOffset(p.topic, p.partition, p.pos, -1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), attemptTimeout)
	defer cancel()
	if err := e.adm.CommitAllOffsets(ctx, e.src.group, offsets); err != nil {
		e.commitsFailed.Add(1)
		if now := e.ctx.Env.Now(); now.Sub(e.commitWarned) >= time.Minute { // checkpoints may be a second apart, and the broker away for hours
			e.commitWarned = now
			e.ctx.Log.Warn("offsets could not be committed to the group; nothing is lost by that", "group", e.src.group, "error", err)
		}
		return nil
	}
	e.commitsSucceeded.Add(1)
	offsets.Each(func(o kadm.Offset) { e.show(o) })
	return nil
}

// show puts a committed offset into its metric.
func (e *enumerator) show(o kadm.Offset) {
	id := splitID(o.Topic, o.Partition)
	c := e.committed[id]
	if c == nil {
		c = &committedOffset{counter: &metric.Counter{}}
		e.committed[id] = c
		e.ctx.Metrics.With("topic", o.Topic, "partition", strconv.Itoa(int(o.Partition))).
			Gauge("KafkaSourceReader.topic.partition.committedOffset", func() float64 { return float64(c.counter.Value()) })
	}
	c.counter.Add(o.At - c.counter.Value())
}

// idText and parseID convert topic ids to and from the base64 that Kafka's tools print; no id is the empty text.
func idText(id [16]byte) string {
	if id == noID {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}

func parseID(text string) (id [16]byte, err error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil || len(b) != 16 {
		return id, fmt.Errorf("'%s' is no topic id", text)
	}
	copy(id[:], b)
	return id, nil
}
