package datagen

import (
	"staunch/changelog"
	"staunch/connector"
)

// again makes given rows of a split once more, at once and not at the table's pace.
type again struct{ *reader }

// Reread implements connector.Rereader. origin is the split's state: a row is a function of it and of its number.
func (s *source) Reread(ctx connector.Context, split, origin string, from, to int64) (connector.Reader, error) {
	r := &reader{ctx: ctx, src: s, fields: s.ownFields(), recordsIn: ctx.Metrics.Counter("numRecordsIn")}
	if err := r.AddSplits([]connector.Split{{ID: split, Position: from, State: []byte(origin)}}); err != nil {
		return nil, err
	}
	s0 := r.splits[0]
	s0.limit = min(s0.limit, to)
	return &again{r}, nil
}

// Poll implements connector.Reader.
func (r *again) Poll(b *changelog.Batch) (connector.Status, error) {
	b.Reset()
	s := r.splits[0]
	if s.Position >= s.limit {
		return connector.Ended, nil
	}
	r.make(b, s, min(s.limit, s.Position+batchRows))
	b.Split = 0
	return connector.More, nil
}
