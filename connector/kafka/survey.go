package kafka

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"staunch/connector"
	"staunch/fault"
)

// survey implements connector.Survey: admin requests, and readers of parts that commit nothing.
type survey struct {
	src *source
	e   *enumerator
	// splits are those of the last Look, ends the offsets behind what the isolation level can read.
	splits []*splitState
	ends   []int64
}

var _ connector.Surveyor = (*source)(nil)

// Survey implements connector.Surveyor.
func (s *source) Survey(ctx connector.Context) (connector.Survey, error) {
	e, err := s.newEnumerator(ctx, nil)
	if err != nil {
		return nil, err
	}
	return &survey{src: s, e: e}, nil
}

// Close implements connector.Survey.
func (v *survey) Close() error { return v.e.Close() }

// Look implements connector.Survey.
func (v *survey) Look() (out connector.SourceSurvey, err error) {
	s, limit := v.src, v.src.limits.apiTimeout
	out = connector.SourceSurvey{Group: s.group, Members: -1, StartMode: s.start, Reset: s.reset, ReadCommitted: s.limits.isolation == 1, Discovery: s.discovery,
		FetchBytes: s.limits.bufferBytes}
	var topics kadm.TopicDetails
	err = v.e.retry(limit, "look for the topics", func(ctx context.Context) (err error) {
		topics, err = v.e.topics(ctx, true)
		return err
	})
	if err != nil {
		return out, err
	}
	v.splits = splitsOf(topics, nil)
	if len(v.splits) == 0 {
		return out, nil
	}
	var starts, ends, high, newest []int64
	err = v.e.retry(limit, "ask for offsets", func(ctx context.Context) (err error) {
		r := v.e.resolver(ctx, "", v.splits)
		if starts, err = r.listed(v.splits, v.e.adm.ListStartOffsets); err != nil {
			return err
		}
		if ends, err = r.end(v.splits); err != nil {
			return err
		}
		if high, err = r.listed(v.splits, v.e.adm.ListEndOffsets); err != nil {
			return err
		}
		newest = v.newest(ctx, r)
		return nil
	})
	if err != nil {
		return out, err
	}
	v.ends = ends
	for i, p := range v.splits {
		x := connector.SplitSurvey{ID: splitID(p.Topic, p.Partition), Topic: p.Topic, Start: starts[i], End: ends[i], Stuck: max(0, high[i]-ends[i]),
			Subtask: func(n int) int { return assign(p.Topic, p.Partition, n) }}
		if newest[i] > 0 {
			x.Newest = time.UnixMilli(newest[i])
		}
		out.Splits = append(out.Splits, x)
	}
	ctx, cancel := context.WithTimeout(context.Background(), attemptTimeout)
	defer cancel()
	out.Topics = v.topics(ctx, topics)
	out.Members = v.members(ctx)
	return out, nil
}

// newest are the greatest times of a record in milliseconds, 0 where that is not known: brokers before 3.0 do not say.
func (v *survey) newest(ctx context.Context, r *resolver) []int64 {
	out := make([]int64, len(v.splits))
	all, err := v.e.adm.ListMaxTimestampOffsets(ctx, r.topics...)
	if err != nil {
		return out
	}
	for i, s := range v.splits {
		if o, ok := all.Lookup(s.Topic, s.Partition); ok && o.Err == nil && o.Offset >= 0 {
			out[i] = max(0, o.Timestamp)
		}
	}
	return out
}

// topics describes the topics. What this client may not ask for stays unknown.
func (v *survey) topics(ctx context.Context, details kadm.TopicDetails) []connector.TopicSurvey {
	var out []connector.TopicSurvey
	full, err := v.e.adm.ListTopics(ctx, details.Names()...) // with the replicas, which the enumerator does not need
	configs, cerr := v.e.adm.DescribeTopicConfigs(ctx, details.Names()...)
	for _, t := range details.Sorted() {
		x := connector.TopicSurvey{Name: t.Topic}
		if err == nil {
			for _, p := range full[t.Topic].Partitions {
				if n := len(p.Replicas); x.Replicas == 0 || n < x.Replicas {
					x.Replicas = n
				}
			}
		}
		if c, on := configs.On(t.Topic, nil); cerr == nil && on == nil && c.Err == nil {
			for _, kv := range c.Configs {
				describe(&x, kv.Key, kv.MaybeValue())
			}
		}
		out = append(out, x)
	}
	return out
}

func describe(x *connector.TopicSurvey, key, value string) {
	n, err := strconv.ParseInt(value, 10, 64)
	switch {
	case key == "cleanup.policy":
		x.Cleanup = value
	case key == "min.insync.replicas" && err == nil:
		x.MinInSync = int(n)
	case key == "unclean.leader.election.enable":
		x.Unclean = value == "true"
	}
}

// members is the number of consumers that are in the group now. This engine is never one of them: it assigns partitions by itself.
func (v *survey) members(ctx context.Context) int {
	if v.src.group == "" {
		return 0
	}
	groups, err := v.e.adm.DescribeGroups(ctx, v.src.group)
	if err != nil {
		return -1
	}
	g, ok := groups[v.src.group]
	if !ok || g.Err != nil {
		return 0 // it is not there yet, or was one of another kind
	}
	return len(g.Members)
}

// Since implements connector.Survey.
func (v *survey) Since(times []time.Time) ([][]connector.Mark, error) {
	out := make([][]connector.Mark, len(times))
	for k, at := range times {
		err := v.e.retry(v.src.limits.apiTimeout, "ask for offsets by time", func(ctx context.Context) error {
			all, err := v.e.adm.ListOffsetsAfterMilli(ctx, at.UnixMilli(), v.e.resolver(ctx, "", v.splits).topics...)
			if err != nil {
				return err
			}
			row := make([]connector.Mark, len(v.splits))
			for i, s := range v.splits {
				o, ok := all.Lookup(s.Topic, s.Partition)
				if !ok || o.Err != nil {
					return fmt.Errorf("topic '%s' partition %d: no offset by time: %w", s.Topic, s.Partition, errors.Join(o.Err, errUnlisted(ok)))
				}
				if row[i].Offset = min(o.Offset, v.ends[i]); o.Offset < v.ends[i] && o.Timestamp >= 0 {
					row[i].Time = time.UnixMilli(o.Timestamp)
				}
			}
			out[k] = row
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func errUnlisted(ok bool) error {
	if ok {
		return nil
	}
	return errors.New("the broker does not list it")
}

// Read implements connector.Survey.
func (v *survey) Read(ctx connector.Context, parts []connector.Part) (connector.SurveyReader, error) {
	part := *v.src
	part.stop, part.commit = "specific-offsets", false
	var splits []connector.Split
	for _, p := range parts {
		if p.Split < 0 || p.Split >= len(v.splits) {
			return nil, fault.New(fault.Bug, "part of split %d of %d", p.Split, len(v.splits))
		}
		s := *v.splits[p.Split]
		s.Stop = &p.To
		state, err := json.Marshal(s)
		if err != nil {
			return nil, err
		}
		splits = append(splits, connector.Split{ID: splitID(s.Topic, s.Partition), Position: p.From, State: state})
	}
	r, err := part.newReader(ctx, splits)
	if err != nil {
		return nil, err
	}
	return surveyReader{r}, nil
}

// surveyReader implements connector.SurveyReader.
type surveyReader struct{ *reader }

// Seen implements connector.SurveyReader.
func (r surveyReader) Seen() (out connector.Seen) {
	out.Bytes, out.Transactional = r.seen.bytes, r.seen.transactional
	if r.seen.newest > 0 {
		out.Newest = time.UnixMilli(r.seen.newest)
	}
	return out
}
