package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
	"golang.org/x/sys/unix"

	"staunch/changelog"
	"staunch/config"
	"staunch/format"
	jsonformat "staunch/format/json"
	"staunch/format/parquet"
	"staunch/function/datetime"
	"staunch/types"
)

// The fetch settings of the Kafka connector's defaults.
const (
	fetchMaxBytes          = 8 << 20
	fetchMaxPartitionBytes = 1 << 20
)

// batchRows is how many rows go to the sink at a time.
const batchRows = 8192

// workers is how many goroutines share the partitions.
const workers = 2

// columns are those of test/peer/gen_events; timeColumn is their ts.
var columns = []format.Field{{Name: "user_id", Type: types.New(types.BigInt)}, {Name: "item_id", Type: types.New(types.BigInt)},
	{Name: "category_id", Type: types.New(types.Int)}, {Name: "action", Type: types.String_}, {Name: "amount", Type: types.NewDecimal(10, 2)},
	{Name: "ts", Type: types.NewTimestamp(3)}, {Name: "device", Type: types.String_}, {Name: "url", Type: types.String_},
	{Name: "part", Type: types.New(types.Int)}, {Name: "seq", Type: types.New(types.BigInt)}}

const timeColumn = 5

func main() {
	log.SetFlags(0)
	if len(os.Args) < 2 || len(os.Args[1]) != 1 || os.Args[1] < "a" || os.Args[1] > "c" {
		log.Fatal("usage: limit a|b|c -brokers host:port -topic name [-dir directory]")
	}
	job := os.Args[1]
	flags := flag.NewFlagSet("limit", flag.ExitOnError)
	brokers := flags.String("brokers", "127.0.0.1:19092", "bootstrap address")
	topic := flags.String("topic", "events", "topic to read from its beginning to the end it has now")
	dir := flags.String("dir", "", "directory for the files of jobs b and c; default: a temporary one, which is removed")
	if err := flags.Parse(os.Args[2:]); err != nil {
		log.Fatal(err)
	}
	runtime.GOMAXPROCS(workers)
	if err := run(job, *brokers, *topic, *dir); err != nil {
		log.Fatalf("limit %s: %v", job, err)
	}
}

func run(job, brokers, topic, dir string) error {
	if dir == "" && job != "a" {
		tmp, err := os.MkdirTemp("", "limit-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(tmp)
		dir = tmp
	}
	began := time.Now()
	shares, err := split(brokers, topic)
	if err != nil {
		return err
	}
	results := make([]error, len(shares))
	counts := make([]int64, len(shares))
	var wg sync.WaitGroup
	for i, share := range shares {
		wg.Go(func() { counts[i], results[i] = work(job, brokers, topic, filepath.Join(dir, job), i, share) })
	}
	wg.Wait()
	if err := errors.Join(results...); err != nil {
		return err
	}
	var records int64
	for _, n := range counts {
		records += n
	}
	return report(job, records, time.Since(began))
}

// span is what to read of one partition: first <= offset < end.
type span struct{ first, end int64 }

// split gives each worker its partitions with what they hold now.
func split(brokers, topic string) ([]map[int32]span, error) {
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers), kgo.DisableClientMetrics())
	if err != nil {
		return nil, err
	}
	defer cl.Close()
	ctx := context.Background()
	admin := kadm.NewClient(cl)
	starts, err := admin.ListStartOffsets(ctx, topic)
	if err == nil {
		err = starts.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("list the start of topic %s: %w", topic, err)
	}
	ends, err := admin.ListEndOffsets(ctx, topic)
	if err == nil {
		err = ends.Error()
	}
	if err != nil {
		return nil, fmt.Errorf("list the end of topic %s: %w", topic, err)
	}
	shares := make([]map[int32]span, workers)
	for i := range shares {
		shares[i] = map[int32]span{}
	}
	ends.Each(func(o kadm.ListedOffset) {
		start, _ := starts.Lookup(topic, o.Partition)
		if start.Offset < o.Offset {
			shares[o.Partition%workers][o.Partition] = span{start.Offset, o.Offset}
		}
	})
	return shares, nil
}

// work reads the partitions of one worker through to their ends.
func work(job, brokers, topic, dir string, worker int, share map[int32]span) (records int64, err error) {
	if len(share) == 0 {
		return 0, nil
	}
	positions := map[int32]kgo.Offset{}
	for p, s := range share {
		positions[p] = kgo.NewOffset().At(s.first)
	}
	cl, err := kgo.NewClient(kgo.SeedBrokers(brokers), kgo.DisableClientMetrics(), kgo.WithPools(&pool{}), kgo.FetchMaxBytes(fetchMaxBytes),
		kgo.FetchMaxPartitionBytes(fetchMaxPartitionBytes), kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: positions}))
	if err != nil {
		return 0, err
	}
	defer cl.Close()
	rows, err := newRows()
	if err != nil {
		return 0, err
	}
	out, err := newSink(job, dir, worker)
	if err != nil {
		return 0, err
	}
	for left := len(share); left > 0; {
		fetches := cl.PollFetches(context.Background())
		if err := fetches.Err(); err != nil {
			return records, fmt.Errorf("fetch: %w", err)
		}
		fetches.EachPartition(func(p kgo.FetchTopicPartition) {
			end := share[p.Partition].end
			for _, r := range p.Records {
				if r.Offset >= end || err != nil {
					break
				}
				if err = rows.add(r.Value); err != nil {
					err = fmt.Errorf("partition %d offset %d: %w", r.Partition, r.Offset, err)
					break
				}
				records++
				if rows.n() >= batchRows {
					err = out.write(rows)
				}
				if r.Offset == end-1 {
					left--
				}
			}
		})
		fetches.EachRecord(func(r *kgo.Record) { r.Recycle() })
		if err != nil {
			return records, err
		}
	}
	if err := out.write(rows); err != nil {
		return records, err
	}
	return records, out.close()
}

// rows are decoded records, with day and hour of their time for jobs that need them.
type rows struct {
	decoder   format.Decoder
	cols      []*changelog.Column
	day, hour *changelog.Column
}

func params() format.Params {
	p := format.Params{All: columns, Zone: time.UTC}
	for i := range columns {
		p.Wanted = append(p.Wanted, i)
	}
	return p
}

func newRows() (*rows, error) {
	p := params()
	p.Options = config.NewValues("limit", nil, nil)
	d, err := jsonformat.Factory.Decoder(p)
	if err != nil {
		return nil, err
	}
	r := &rows{decoder: d, day: changelog.NewColumn(types.String_), hour: changelog.NewColumn(types.String_)}
	for _, f := range columns {
		r.cols = append(r.cols, changelog.NewColumn(f.Type))
	}
	return r, nil
}

func (r *rows) add(value []byte) error {
	_, err := r.decoder.Decode(value, r.cols)
	return err
}

func (r *rows) n() int { return r.cols[0].N }

func (r *rows) reset() {
	for _, c := range r.cols {
		c.Reset()
	}
	r.day.Reset()
	r.hour.Reset()
}

// partition computes day and hour as text, as DATE_FORMAT would.
func (r *rows) partition() {
	var buf [32]byte
	for i := range r.n() {
		text := datetime.AppendTimestamp(buf[:0], r.cols[timeColumn].I64[i], 1000, 3)
		r.day.AppendBytes(text[:10])
		r.hour.AppendBytes(text[11:13])
	}
}

// sink writes rows by day and hour; with no format it discards them.
type sink struct {
	format format.FileFormat
	dir    string
	name   string
	files  map[string]*openFile
}

type openFile struct {
	f *os.File
	w format.FileWriter
}

func newSink(job, dir string, worker int) (*sink, error) {
	s := &sink{dir: dir, files: map[string]*openFile{}}
	if job == "a" {
		return s, nil
	}
	p, factory := params(), parquet.Factory
	p.Options = config.NewValues("limit", map[string]string{"utc-timezone": "true", "write.int64.timestamp": "true"}, nil)
	if job == "c" {
		p.Options, factory = config.NewValues("limit", nil, nil), jsonformat.Factory
	}
	s.name = fmt.Sprintf("part-%d%s", worker, factory.Extension)
	var err error
	s.format, err = factory.FileWriter(p)
	return s, err
}

// write hands the rows over in runs of the same hour and empties them.
func (s *sink) write(r *rows) error {
	defer r.reset()
	if s.format == nil {
		return nil
	}
	r.partition()
	for from := 0; from < r.n(); {
		to := from + 1
		for to < r.n() && string(r.hour.Bytes(to)) == string(r.hour.Bytes(from)) && string(r.day.Bytes(to)) == string(r.day.Bytes(from)) {
			to++
		}
		f, err := s.file(r.day.Bytes(from), r.hour.Bytes(from))
		if err != nil {
			return err
		}
		if err := f.w.Write(r.cols, from, to); err != nil {
			return err
		}
		from = to
	}
	return nil
}

func (s *sink) file(day, hour []byte) (*openFile, error) {
	var buf [32]byte
	key := append(append(append(buf[:0], day...), '/'), hour...)
	if f := s.files[string(key)]; f != nil {
		return f, nil
	}
	dir := filepath.Join(s.dir, "dt="+string(day), "hr="+string(hour))
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	f, err := os.Create(filepath.Join(dir, s.name))
	if err != nil {
		return nil, err
	}
	w, err := s.format.Open(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	s.files[string(key)] = &openFile{f, w}
	return s.files[string(key)], nil
}

func (s *sink) close() error {
	var err error
	for _, f := range s.files {
		err = errors.Join(err, f.w.Finish(nil), f.f.Close())
	}
	return err
}

// pool reuses the client's record slices: half of what it allocates.
type pool struct{ records sync.Pool }

// GetRecords implements kgo.PoolRecords.
func (p *pool) GetRecords(n int) []kgo.Record {
	if s, ok := p.records.Get().(*[]kgo.Record); ok && cap(*s) >= n {
		return (*s)[:0]
	}
	return make([]kgo.Record, 0, n)
}

// PutRecords implements kgo.PoolRecords.
func (p *pool) PutRecords(s []kgo.Record) { p.records.Put(&s) }

// report prints what was used.
func report(job string, records int64, wall time.Duration) error {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		return err
	}
	cpu := float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
	return json.NewEncoder(os.Stdout).Encode(struct {
		Job        string  `json:"job"`
		Records    int64   `json:"records"`
		CPUSeconds float64 `json:"cpu_seconds"`
		Wall       float64 `json:"wall_seconds"`
		PeakRSS    int64   `json:"peak_rss_bytes"`
		PerCPU     float64 `json:"records_per_cpu_second"`
		PerSecond  float64 `json:"records_per_second"`
	}{job, records, cpu, wall.Seconds(), u.Maxrss * 1024, float64(records) / cpu, float64(records) / wall.Seconds()})
}
