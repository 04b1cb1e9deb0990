package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"staunch/audit"
	"staunch/connector"
	"staunch/connector/kafka"
	"staunch/fault"
	"staunch/plan"
)

// brokerOf gives what the tables of a script are compared with: the brokers of its sources. Without a script the flags name them.
func brokerOf(script *plan.Script, servers string, properties []string) (*audit.Broker, error) {
	if script == nil {
		if servers == "" {
			return nil, &exitError{exitUsage, errors.New("--against-broker needs the statement file, or --bootstrap-server HOST:PORT with a table's folder")}
		}
		b, err := kafka.NewInspector(servers, properties)
		if err != nil {
			return nil, &exitError{exitUsage, err}
		}
		return &audit.Broker{Inspector: b}, nil
	}
	if servers != "" || len(properties) > 0 {
		return nil, &exitError{exitUsage, errors.New("--bootstrap-server and --kafka-property go with a table's folder: a statement file names its brokers itself")}
	}
	all, level, unread := &inspectors{}, map[string]bool{}, ""
	for _, j := range script.Jobs() {
		for _, s := range j.Graph.Sources {
			src, ok := s.Source.(connector.Inspected)
			if !ok {
				continue
			}
			in, err := src.Inspector()
			if err != nil {
				all.Close()
				return nil, &exitError{exitUsage, fmt.Errorf("%s: %w", s.Describe, err)}
			}
			all.list = append(all.list, in)
			level[src.Isolation()] = true
			unread = cmp.Or(unread, src.Unread())
		}
	}
	if len(all.list) == 0 {
		return nil, &exitError{exitUsage, errors.New("--against-broker: the statement file reads no topic")}
	}
	b := &audit.Broker{Inspector: all, Unread: unread}
	for l := range level {
		if len(level) == 1 {
			b.Isolation = l
		}
	}
	return b, nil
}

// inspectors are those of several sources: a topic is asked of the first that has it.
type inspectors struct {
	list []connector.Inspector
	of   map[string]connector.Inspector
}

// Ranges implements connector.Inspector.
func (x *inspectors) Ranges(ctx context.Context, topic string) ([]connector.PartitionRange, error) {
	var all error
	for _, in := range x.list {
		r, err := in.Ranges(ctx, topic)
		if err == nil {
			if x.of == nil {
				x.of = map[string]connector.Inspector{}
			}
			x.of[topic] = in
			return r, nil
		}
		if fault.ClassOf(err) != fault.Lost {
			return nil, err
		}
		all = err
	}
	return nil, all
}

// Look implements connector.Inspector.
func (x *inspectors) Look(ctx context.Context, topic string, partition int32, from, to int64, visit func(from, to int64, what connector.Content)) error {
	in, err := x.has(ctx, topic)
	if err != nil {
		return err
	}
	return in.Look(ctx, topic, partition, from, to, visit)
}

// Committed implements connector.Inspector.
func (x *inspectors) Committed(ctx context.Context, group, topic string) (map[int32]int64, error) {
	in, err := x.has(ctx, topic)
	if err != nil {
		return nil, err
	}
	return in.Committed(ctx, group, topic)
}

func (x *inspectors) has(ctx context.Context, topic string) (connector.Inspector, error) {
	if in := x.of[topic]; in != nil {
		return in, nil
	}
	if _, err := x.Ranges(ctx, topic); err != nil {
		return nil, err
	}
	return x.of[topic], nil
}

// Close implements connector.Inspector.
func (x *inspectors) Close() {
	for _, in := range x.list {
		in.Close()
	}
}
