package kafka

import (
	"context"
	"encoding/json"
	"strings"

	"staunch/connector"
)

// Window implements connector.Windowed.
func (s *source) Window(sp connector.Split) (from, to int64, err error) {
	p, err := newPart(sp, 0)
	if err != nil {
		return 0, 0, err
	}
	return sp.Position, p.fetchStop, nil
}

// Narrow implements connector.Windowed.
func (s *source) Narrow(sp connector.Split, from, to int64) (connector.Split, error) {
	p, err := newPart(sp, 0)
	if err != nil {
		return sp, err
	}
	st := p.state
	st.Earliest = st.Earliest && from == sp.Position
	st.Stop = &to
	state, err := json.Marshal(st)
	return connector.Split{ID: sp.ID, Position: from, State: state}, err
}

// Stand implements connector.Watched.
func (s *source) Stand(ctx connector.Context) (out connector.Stand, err error) {
	e, err := s.newEnumerator(ctx, nil)
	if err != nil {
		return out, err
	}
	defer e.Close()
	out = connector.Stand{Ends: map[string]int64{}, Group: s.group, Committed: map[string]int64{}}
	err = e.retry(s.limits.apiTimeout, "ask where "+strings.Join(s.topics, ", ")+" stands", func(ctx context.Context) error {
		topics, err := e.topics(ctx, false)
		if err != nil {
			return err
		}
		ends, err := e.adm.ListEndOffsets(ctx, topics.Names()...)
		if err != nil {
			return err
		}
		for topic, list := range ends {
			for p, o := range list {
				if o.Err != nil {
					return o.Err
				}
				out.Ends[splitID(topic, p)] = o.Offset
			}
		}
		if s.group == "" {
			return nil
		}
		committed, err := e.adm.FetchOffsetsForTopics(ctx, s.group, topics.Names()...)
		if err != nil {
			return err
		}
		for topic, list := range committed {
			for p, o := range list {
				if o.Err != nil {
					return o.Err
				}
				if o.At >= 0 { // else the group has none there
					out.Committed[splitID(topic, p)] = o.At
				}
			}
		}
		return nil
	})
	return out, err
}
