package blackhole

import (
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/fault"
	"staunch/metric"
)

var options = []config.Option{{Key: "connector", Type: config.TypeString, Required: true, Doc: "blackhole."}}

// Factory makes the sinks of `'connector' = 'blackhole'`.
var Factory = connector.Factory{Name: "blackhole", Options: options, Sink: newSink}

type sink struct{}

var _ connector.Guarantee = sink{}

func newSink(t connector.Table) (connector.Sink, error) {
	if _, _, err := t.Options.Check(options); err != nil {
		return nil, &fault.Error{Class: fault.User, Err: err}
	}
	return sink{}, nil
}

// Guarantee implements connector.Guarantee.
func (sink) Guarantee() (level, reason string) { return "none", "rows are counted and dropped" }

// NewWriter implements connector.Sink.
func (sink) NewWriter(ctx connector.Context) (connector.Writer, error) {
	return &writer{rows: ctx.Metrics.Counter("numRowsDropped")}, nil
}

type writer struct{ rows *metric.Counter }

// Write implements connector.Writer.
func (w *writer) Write(b *changelog.Batch, _ []connector.Split) error {
	w.rows.Add(int64(b.Rows))
	return nil
}

// Tick implements connector.Writer.
func (w *writer) Tick(time.Time) error { return nil }

// Prepare implements connector.Writer: there is nothing to commit.
func (w *writer) Prepare(account.CheckpointID) ([]connector.Committable, func() error, error) {
	return nil, nil, nil
}

// Close implements connector.Writer.
func (w *writer) Close() error { return nil }

// SizeBytes implements connector.Writer.
func (w *writer) SizeBytes() int64 { return 0 }
