package kafka

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"staunch/config"
	"staunch/connector"
	"staunch/fault"
	"staunch/format"
)

// Factory makes Kafka sources.
var Factory = connector.Factory{Name: "kafka", Options: options, Metadata: metadata, Source: newSource}

const onlySink = "it concerns writing only"

var startModes = []string{"earliest-offset", "latest-offset", "group-offsets", "timestamp", "specific-offsets"}
var boundedModes = []string{"unbounded", "latest-offset", "group-offsets", "timestamp", "specific-offsets"}

// options are Flink's, with Flink's defaults.
var options = []config.Option{
	{Key: "connector", Required: true, Doc: "kafka."},
	{Key: "topic", Type: config.TypeList, Doc: "Topics to read, separated by ';'. Either this or topic-pattern."},
	{Key: "topic-pattern", Doc: "Regular expression that whole topic names match; later created topics are found by discovery.", Validate: validPattern},
	{Key: "properties.bootstrap.servers", Required: true, Doc: "Addresses of brokers, host:port, separated by ','.", Validate: validServers},
	{Key: "properties.group.id", Doc: "Consumer group: where group-offsets starts, and where the offsets of completed checkpoints are committed to."},
	{Key: "properties.*", Doc: "Any property of Kafka's Java consumer, under its Java name."},
	{Key: "format", Doc: "Format of the values."},
	{Key: "value.format", Doc: "Format of the values; the same as format."},
	{Key: "value.fields-include", Type: config.TypeEnum, Enum: []string{"ALL", "EXCEPT_KEY"}, Default: "ALL", Doc: "Whether key columns are also in the value."},
	{Key: "key.format", Doc: "Format of the keys.", Refused: "keys cannot be read yet; leave key.format and key.fields out if the columns are in the value"},
	{Key: "key.fields", Type: config.TypeList, Doc: "Columns of the key.", Refused: "keys cannot be read yet; leave key.format and key.fields out if the columns are in the value"},
	{Key: "key.fields-prefix", Doc: "Prefix of the key's columns.", Refused: "keys cannot be read yet"},
	{Key: "scan.startup.mode", Type: config.TypeEnum, Enum: startModes, Default: "group-offsets",
		Doc: "Where partitions start that the state does not know; partitions found later start at their earliest offset."},
	{Key: "scan.startup.timestamp-millis", Type: config.TypeLong, Doc: "With scan.startup.mode = timestamp: the first record at or after this time, else the end."},
	{Key: "scan.startup.specific-offsets", Doc: "With scan.startup.mode = specific-offsets: partition:0,offset:42;partition:1,offset:300.", Validate: validOffsets},
	{Key: "scan.bounded.mode", Type: config.TypeEnum, Enum: boundedModes, Default: "unbounded", Doc: "Where reading ends; fixed when the job starts."},
	{Key: "scan.bounded.timestamp-millis", Type: config.TypeLong, Doc: "With scan.bounded.mode = timestamp."},
	{Key: "scan.bounded.specific-offsets", Doc: "With scan.bounded.mode = specific-offsets.", Validate: validOffsets},
	{Key: "scan.topic-partition-discovery.interval", Type: config.TypeDuration, Default: "5 min", Doc: "How often to look for new partitions; 0 = never."},
	{Key: "scan.parallelism", Type: config.TypeInt, Doc: "Subtasks that read.", Ignored: "sources read with the job's parallelism"},
	{Key: "scan.watermark.emit.strategy", Type: config.TypeEnum, Enum: []string{"on-event", "on-periodic"}, Default: "on-periodic", Doc: "When watermarks are emitted.",
		Ignored: "watermarks follow each batch"},
	{Key: "scan.watermark.idle-timeout", Type: config.TypeDuration, Doc: "After this time without a record a partition does not hold the watermark back."},
	{Key: "scan.watermark.alignment.group", Doc: "Watermark alignment.", Refused: "watermark alignment is not there yet"},
	{Key: "scan.watermark.alignment.max-drift", Type: config.TypeDuration, Doc: "Watermark alignment.", Refused: "watermark alignment is not there yet"},
	{Key: "scan.watermark.alignment.update-interval", Type: config.TypeDuration, Default: "1 s", Doc: "Watermark alignment.", Ignored: "there is no watermark alignment"},
	{Key: "sink.partitioner", Default: "default", Doc: "Partitioner of the sink.", Ignored: onlySink},
	{Key: "sink.parallelism", Type: config.TypeInt, Doc: "Subtasks that write.", Ignored: onlySink},
	{Key: "sink.delivery-guarantee", Type: config.TypeEnum, Enum: []string{"exactly-once", "at-least-once", "none"}, Default: "at-least-once", Doc: "Guarantee of the sink.", Ignored: onlySink},
	{Key: "sink.transactional-id-prefix", Doc: "Transactional ids of the sink.", Ignored: onlySink},
	{Key: "sink.transaction-naming-strategy", Type: config.TypeEnum, Enum: []string{"INCREMENTING", "POOLING"}, Default: "INCREMENTING", Doc: "Transactional ids of the sink.", Ignored: onlySink},
}

// source implements connector.Source.
type source struct {
	table   connector.Table
	topics  []string
	pattern *regexp.Regexp

	start, stop             string
	startMillis, stopMillis int64
	startAt, stopAt         map[int32]int64
	discovery               time.Duration

	columns                           []column
	wantTime, wantTimeType, wantEpoch bool
	formatName                        string
	decoder                           func() (format.Decoder, error)
	// rereads: it is read again for a repair, which says itself what is gone.
	rereads bool

	properties
}

func newSource(t connector.Table) (connector.Source, error) {
	s := &source{table: t}
	props, err := newProperties(t)
	s.properties = props
	errs := []error{err, s.readTopics(), s.readModes(), s.readColumns(), s.readFormat()}
	if err := errors.Join(errs...); err != nil {
		return nil, fault.Userf("%w", err)
	}
	return s, nil
}

func (s *source) readTopics() (err error) {
	o := s.table.Options
	s.topics = o.List("topic")
	switch has := o.Has("topic-pattern"); {
	case has && len(s.topics) > 0:
		return o.Errorf("topic-pattern", "given together with 'topic': only one of them is possible")
	case has:
		if s.pattern, err = regexp.Compile(wholePattern(o.String("topic-pattern"))); err != nil {
			return o.Errorf("topic-pattern", "not a regular expression: %v", err)
		}
	case len(s.topics) == 0:
		return o.Errorf("topic", "is missing; name topics here or give 'topic-pattern'")
	}
	return nil
}

func (s *source) readModes() error {
	o := s.table.Options
	var errs [7]error
	s.start, errs[0] = o.Enum("scan.startup.mode")
	s.stop, errs[1] = o.Enum("scan.bounded.mode")
	s.discovery, errs[2] = o.Duration("scan.topic-partition-discovery.interval")
	s.startMillis, errs[3] = o.Int64("scan.startup.timestamp-millis")
	s.stopMillis, errs[4] = o.Int64("scan.bounded.timestamp-millis")
	s.startAt, errs[5] = s.offsets("scan.startup.specific-offsets")
	s.stopAt, errs[6] = s.offsets("scan.bounded.specific-offsets")
	if err := errors.Join(errs[:]...); err != nil {
		return err
	}
	return errors.Join(s.checkMode("scan.startup", s.start), s.checkMode("scan.bounded", s.stop))
}

// checkMode checks that what a mode needs is there.
func (s *source) checkMode(scan, mode string) error {
	o := s.table.Options
	need := ""
	switch mode {
	case "timestamp":
		need = scan + ".timestamp-millis"
	case "specific-offsets":
		need = scan + ".specific-offsets"
		if len(s.topics) != 1 {
			return o.Errorf(scan+".mode", "specific offsets are possible for one topic only")
		}
	case "group-offsets":
		need = "properties.group.id"
	}
	if need != "" && o.String(need) == "" {
		return o.Errorf(need, "is missing; '%s.mode' = '%s' needs it", scan, mode)
	}
	return nil
}

func (s *source) offsets(key string) (map[int32]int64, error) {
	text := s.table.Options.String(key)
	if text == "" {
		return nil, nil
	}
	m, err := parseOffsets(text)
	if err != nil {
		return nil, s.table.Options.Errorf(key, "%v", err)
	}
	return m, nil
}

func (s *source) readColumns() error {
	for _, c := range s.table.Columns {
		col, err := newColumn(s.table, c)
		if err != nil {
			return err
		}
		s.columns = append(s.columns, col)
		s.wantTime = s.wantTime || col.meta == metaTimestamp
		s.wantTimeType = s.wantTimeType || col.meta == metaTimestampType
		s.wantEpoch = s.wantEpoch || col.meta == metaLeaderEpoch
	}
	return nil
}

// readFormat finds the value format and binds its options: '<format>.*' of 'format', 'value.<format>.*' of 'value.format'. The planner has warned
// of them already.
func (s *source) readFormat() error {
	t, o := s.table, s.table.Options
	key, prefix := "format", ""
	if o.Has("value.format") {
		if o.Has("format") {
			return o.Errorf("value.format", "given together with 'format', which means the same; leave one out")
		}
		key, prefix = "value.format", "value."
	}
	name := o.String(key)
	if name == "" {
		return o.Errorf("format", "is missing")
	}
	if t.Formats == nil {
		return o.Errorf(key, "there are no formats")
	}
	f, ok := t.Formats(name)
	if !ok {
		return o.Errorf(key, "there is no such format")
	}
	if f.Decoder == nil {
		return o.Errorf(key, "the format can be written only")
	}
	checked, _, err := o.Sub(prefix + name + ".").Check(f.Options)
	if err != nil {
		return err
	}
	p := format.Params{Options: checked, Staunch: t.Staunch, Zone: t.Zone}
	for _, c := range t.AllColumns {
		if c.Metadata == "" {
			p.All = append(p.All, format.Field{Name: c.Name, Type: c.Type})
		}
	}
	for _, c := range t.Columns {
		if c.Metadata != "" {
			continue
		}
		at := -1
		for i, f := range p.All {
			if f.Name == c.Name {
				at = i
			}
		}
		if at < 0 {
			return fmt.Errorf("table %s: column '%s' is not among the declared columns", t.Name, c.Name)
		}
		p.Wanted = append(p.Wanted, at)
	}
	s.formatName = prefix + name
	s.decoder = func() (format.Decoder, error) { return f.Decoder(p) }
	_, err = s.decoder() // wrong options show at the start
	return err
}

// bounded reports whether reading ends by itself.
func (s *source) bounded() bool { return s.stop != "unbounded" }

// Bounded implements connector.Source.
func (s *source) Bounded() bool { return s.bounded() }

// Replayable implements connector.Source.
func (s *source) Replayable() bool { return true }

// Enumerate implements connector.Source.
func (s *source) Enumerate(ctx connector.Context, state []byte) (connector.Enumerator, error) {
	e, err := s.newEnumerator(ctx, state)
	if err != nil {
		return nil, err
	}
	return e, nil
}

// NewReader implements connector.Source.
func (s *source) NewReader(ctx connector.Context, splits []connector.Split) (connector.Reader, error) {
	r, err := s.newReader(ctx, splits)
	if err != nil {
		return nil, err
	}
	return r, nil
}

// wholePattern makes a Java pattern that is matched against the whole name one of Go.
func wholePattern(java string) string { return `^(?:` + java + `)$` }

func validPattern(text string) error {
	if _, err := regexp.Compile(wholePattern(text)); err != nil {
		return fmt.Errorf("not a regular expression that can be used here (look-around and back references are not possible): %v", err)
	}
	return nil
}

func validOffsets(text string) error {
	_, err := parseOffsets(text)
	return err
}

// parseOffsets reads partition:0,offset:42;partition:1,offset:300.
func parseOffsets(text string) (map[int32]int64, error) {
	bad := errors.New("accepted is partition:0,offset:42;partition:1,offset:300")
	m := map[int32]int64{}
	for _, pair := range strings.Split(strings.TrimSuffix(strings.TrimSpace(text), ";"), ";") {
		a, b, ok := strings.Cut(pair, ",")
		if !ok {
			return nil, bad
		}
		p, ok1 := strings.CutPrefix(strings.TrimSpace(a), "partition:")
		o, ok2 := strings.CutPrefix(strings.TrimSpace(b), "offset:")
		partition, err1 := strconv.ParseInt(p, 10, 32)
		offset, err2 := strconv.ParseInt(o, 10, 64)
		if !ok1 || !ok2 || err1 != nil || err2 != nil || partition < 0 || offset < 0 {
			return nil, bad
		}
		if _, twice := m[int32(partition)]; twice {
			return nil, fmt.Errorf("partition %d is named twice", partition)
		}
		m[int32(partition)] = offset
	}
	return m, nil
}

func validServers(text string) error {
	for _, s := range strings.Split(text, ",") {
		s = strings.TrimSpace(s)
		i := strings.LastIndexByte(s, ':')
		if i <= 0 {
			return fmt.Errorf("accepted is host:port, separated by ','; '%s' has no port", s)
		}
		if n, err := strconv.Atoi(s[i+1:]); err != nil || n < 1 || n > 65535 {
			return fmt.Errorf("accepted is host:port, separated by ','; '%s' is no port", s[i+1:])
		}
	}
	return nil
}
