package kafka

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"staunch/connector"
	"staunch/fault"
)

// originPrefix begins Range.Origin: the topic's id follows.
const originPrefix = "topic-id "

// origin is what the partition's offsets number; "" on clusters that give topics no ids.
func (p *part) origin() string {
	if p.state.TopicID == "" {
		return ""
	}
	return originPrefix + p.state.TopicID
}

// Reread implements connector.Rereader. It asks for nothing but the topic's metadata and records: no group is joined, no offset is committed.
func (s *source) Reread(ctx connector.Context, split, origin string, from, to int64) (connector.Reader, error) {
	i := strings.LastIndexByte(split, '-')
	n, err := strconv.ParseInt(split[i+1:], 10, 32)
	if i <= 0 || err != nil || splitID(split[:i], int32(n)) != split {
		return nil, fault.Userf("table %s: %q is no partition of a topic", s.table.Name, split)
	}
	topic := split[:i]
	if !slices.Contains(s.topics, topic) && (s.pattern == nil || !s.pattern.MatchString(topic)) {
		return nil, fault.Userf("table %s does not read topic '%s' any more", s.table.Name, topic)
	}
	id, ok := strings.CutPrefix(origin, originPrefix)
	if !ok {
		return nil, fault.Userf("table %s: %q does not say which topic the offsets of %s number", s.table.Name, origin, split)
	}
	if id == "" { // as certificates of former versions say it
		return nil, fault.Userf("table %s: the cluster gave topic '%s' no id, so it may be another one of that name by now", s.table.Name, topic).
			WithHint("the loss stays: note it with --accept-lost, and account for the offsets; with brokers of Kafka 2.8 or later topics have ids")
	}
	state, err := json.Marshal(splitState{Topic: topic, Partition: int32(n), TopicID: id, Stop: &to})
	if err != nil {
		return nil, err
	}
	again := *s
	again.stop, again.reset, again.rereads = "specific-offsets", "earliest", true // what retention took is passed over, and counted
	return again.NewReader(ctx, []connector.Split{{ID: split, Position: from, State: state}})
}
