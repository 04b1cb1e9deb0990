package drill

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/fault"
	"staunch/fs"
)

// parts is into how many checkpoints at least a run is cut.
const parts = 5

// The connectors that a drill knows how to bound or to lead elsewhere, and their options; what is printed goes to the log of the run.
const (
	kafka, datagen, filesystem = "kafka", "datagen", "filesystem"
	printing, blackhole        = "print", "blackhole"
	startMode                  = "scan.startup.mode"
	stopMode                   = "scan.bounded.mode"
	groupID                    = "properties.group.id"
	rowsPerSecond              = "rows-per-second"
	numberOfRows               = "number-of-rows"
	pathOption                 = "path"
)

// Writes reports whether a drill can run the sinks of a connector: they write to the run's folder, or nothing outside of the process. Whatever
// another sink does would be done for real, once in each run.
func Writes(name string) bool { return name == filesystem || name == printing || name == blackhole }

// FromEnd reports whether a Kafka table with this scan.startup.mode begins where records come that do not exist yet, or where its consumer group
// stands: the drill reads the newest records instead.
func FromEnd(mode string) bool {
	return mode == "" || mode == "latest-offset" || mode == "group-offsets"
}

// Bounded gives the connectors so that sources end: what a drill plans with. Nothing else about them is changed. Of
// other connectors a drill does not know how to read them without leaving a trace on a server.
func Bounded(list []connector.Factory, records int64) []connector.Factory {
	list = slices.Clone(list)
	for i := range list {
		f := &list[i]
		name, source := f.Name, f.Source
		if source == nil {
			continue
		}
		f.Source = func(t connector.Table) (connector.Source, error) {
			switch name {
			case kafka:
				t.Options = boundedKafka(t.Options)
			case datagen:
				t.Options = boundedDatagen(t.Options, records)
			default:
				return nil, refused(name, t, "read")
			}
			return source(t)
		}
	}
	return list
}

// boundedKafka reads without a consumer group, so that nothing is committed to any.
func boundedKafka(o config.Values) config.Values {
	if FromEnd(o.String(startMode)) {
		o = o.With(startMode, "earliest-offset")
	}
	if m := o.String(stopMode); m == "" || m == "unbounded" || m == "group-offsets" {
		o = o.With(stopMode, "latest-offset")
	}
	return o.With(groupID, "")
}

// boundedDatagen makes the rows within a tenth of a second, in about ten batches; how many is bounded.
func boundedDatagen(o config.Values, records int64) config.Values {
	if n, err := o.Int64(numberOfRows); !o.Has(numberOfRows) || err == nil && n > records {
		o = o.With(numberOfRows, strconv.FormatInt(records, 10))
	}
	return o.With(rowsPerSecond, strconv.FormatInt(10*records, 10))
}

// Adapt gives the connectors for a run: sources read exactly the splits of the orders, in parts of which each waits for a checkpoint, and commit
// nothing to their servers; file sinks write to the run's folder. Tables of connectors that it does not know are refused when they are used.
func Adapt(list []connector.Factory, job Job) []connector.Factory {
	most := int64(1)
	for _, n := range job.Records {
		most = max(most, n)
	}
	list = Bounded(list, most)
	for i := range list {
		f := &list[i]
		if makeSource := f.Source; makeSource != nil {
			f.Source = func(t connector.Table) (connector.Source, error) {
				s, err := makeSource(t)
				if err != nil {
					return nil, err
				}
				splits, ok := job.Sources[t.Name]
				if !ok {
					return nil, fault.Userf("the drill has no window for table %s", t.Name)
				}
				return &pinned{Source: s, splits: splits, records: job.Records[t.Name]}, nil
			}
		}
		if makeSink := f.Sink; makeSink != nil && !Writes(f.Name) {
			f.Sink = func(t connector.Table) (connector.Sink, error) { return nil, refused(f.Name, t, "write") }
		} else if makeSink != nil && f.Name == filesystem {
			f.Sink = func(t connector.Table) (connector.Sink, error) {
				at, err := elsewhere(t, job)
				if err != nil {
					return nil, err
				}
				t.Options = t.Options.With(pathOption, at)
				return makeSink(t)
			}
		}
	}
	return list
}

// refused says that a table would be used for real.
func refused(name string, t connector.Table, verb string) error {
	return fault.Userf("a drill does not %s tables of the connector %s, as table %s is: it would do so for real", verb, name, t.Name)
}

// elsewhere is where a table of the user's lies in this run.
func elsewhere(t connector.Table, job Job) (string, error) {
	f, p, err := t.Stores.Resolve(t.Options.String(pathOption))
	if err != nil {
		return "", fmt.Errorf("table %s: %w", t.Name, err)
	}
	at, ok := job.Tables[fs.URI(f, p)]
	if !ok {
		return "", fault.Userf("the drill has no place for table %s (%s)", t.Name, fs.URI(f, p))
	}
	return at, nil
}

// Window narrows the splits of a source to about so many records: the first ones, or, from the end, the last. A source that is not
// connector.Windowed must be bounded by itself. It gives how many offsets that is.
func Window(src connector.Source, splits []connector.Split, records int64, fromEnd bool) ([]connector.Split, int64, error) {
	w, ok := src.(connector.Windowed)
	if !ok {
		return splits, records, nil
	}
	froms, tos, has := make([]int64, len(splits)), make([]int64, len(splits)), make([]int64, len(splits))
	for i, s := range splits {
		var err error
		if froms[i], tos[i], err = w.Window(s); err != nil {
			return nil, 0, err
		}
		has[i] = max(0, tos[i]-froms[i])
	}
	out, all := make([]connector.Split, len(splits)), int64(0)
	for i, n := range spread(has, records) {
		from, to := froms[i], froms[i]+n
		if fromEnd {
			from, to = tos[i]-n, tos[i]
		}
		var err error
		if out[i], err = w.Narrow(splits[i], from, to); err != nil {
			return nil, 0, err
		}
		all += n
	}
	return out, all, nil
}

// spread distributes n over places that have room for so many each, as evenly as they can take it.
func spread(room []int64, n int64) []int64 {
	out := make([]int64, len(room))
	for n > 0 {
		open := int64(0)
		for i := range room {
			if out[i] < room[i] {
				open++
			}
		}
		if open == 0 {
			break
		}
		each := max(1, n/open)
		for i := range room {
			k := min(each, room[i]-out[i], n)
			out[i] += k
			if n -= k; n == 0 {
				break
			}
		}
	}
	return out
}

// pinned is a Source that reads given splits and nothing else, and tells its servers nothing.
type pinned struct {
	connector.Source
	splits  []connector.Split
	records int64
}

// Synthetic implements connector.Synthetic.
func (s *pinned) Synthetic() bool {
	syn, ok := s.Source.(connector.Synthetic)
	return ok && syn.Synthetic()
}

// Enumerate implements connector.Source.
func (s *pinned) Enumerate(ctx connector.Context, state []byte) (connector.Enumerator, error) {
	e, err := s.Source.Enumerate(ctx, state)
	if err != nil {
		return nil, err
	}
	return &pinnedSplits{Enumerator: e, splits: s.splits}, nil
}

// pinnedSplits is its Enumerator.
type pinnedSplits struct {
	connector.Enumerator
	splits []connector.Split
}

// Discover implements connector.Enumerator.
func (e *pinnedSplits) Discover(known []connector.Split) ([]connector.Split, error) {
	if len(known) > 0 {
		return nil, nil
	}
	return slices.Clone(e.splits), nil
}

// Interval implements connector.Enumerator.
func (e *pinnedSplits) Interval() time.Duration { return 0 }

// Committed implements connector.Enumerator.
func (e *pinnedSplits) Committed([]connector.Split) error { return nil }

// NewReader implements connector.Source.
func (s *pinned) NewReader(ctx connector.Context, splits []connector.Split) (connector.Reader, error) {
	r, err := s.Source.NewReader(ctx, splits)
	if err != nil {
		return nil, err
	}
	share := s.records / parts / int64(max(1, ctx.Parallelism))
	return &paced{Reader: r, share: max(1, share), wake: ctx.Wake}, nil
}

// paced is a Reader that has read its share at some time and then waits for a checkpoint, so that a run of any length has several.
type paced struct {
	connector.Reader
	share, read int64
	wake        func()
}

// Poll implements connector.Reader.
func (r *paced) Poll(b *changelog.Batch) (connector.Status, error) {
	if r.read >= r.share {
		b.Reset()
		return connector.Waiting, nil
	}
	st, err := r.Reader.Poll(b)
	r.read += int64(b.Rows)
	return st, err
}

// Snapshot implements connector.Reader.
func (r *paced) Snapshot() ([]connector.Split, []account.Range, error) {
	r.read = 0
	r.wake()
	return r.Reader.Snapshot()
}
