package connectortest

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"staunch/account"
	"staunch/changelog"
	"staunch/connector"
	"staunch/types"
)

// faultVariable names the fault of the source in the child process.
const faultVariable = "STAUNCH_TEST_FAULT"

// faults are the mistakes that RunSource must find, each with a part of what it says then.
var faults = map[string]string{
	"positions are one too low":       "does not close",
	"a gap is not in the account":     "does not close",
	"account begins at 0 after each":  "are followed by",
	"a row is lost after restore":     "does not close",
	"ended before the last rows":      "want 30",
	"blocks":                          "must not block",
	"splits change their places":      "splits after AddSplits",
	"offsets are not ascending":       "follows",
	"known splits are found again":    "new splits",
	"a column is shorter":             "column 1 has",
	"not assigned to a subtask":       "is assigned to subtask",
	"position moves after the end":    "Poll after the end",
	"the counts are not per snapshot": "does not close",
}

var memorySchema = changelog.Schema{{Name: "a", Type: types.New(types.BigInt)}, {Name: "b", Type: types.New(types.BigInt)}}

// TestMemorySource runs the suite over the source below, right or with the fault that the environment names.
func TestMemorySource(t *testing.T) {
	RunSource(t, SourceCase{New: func(testing.TB) connector.Source { return memorySource{os.Getenv(faultVariable)} }, Schema: memorySchema, Rows: 30})
}

func TestSuiteFindsFaults(t *testing.T) {
	for name, says := range faults {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			t.Parallel()
			c := exec.Command(os.Args[0], "-test.run=^TestMemorySource$", "-test.timeout=60s")
			c.Env = append(os.Environ(), faultVariable+"="+name)
			out, err := c.CombinedOutput()
			if err == nil || !strings.Contains(string(out), says) {
				t.Errorf("not found (%v), want %q:\n%s", err, says, out)
			}
		})
	}
}

// memorySource has two splits with the even offsets below 30; the odd ones are gaps.
type memorySource struct{ fault string }

const memoryEnd = 30

func (s memorySource) Bounded() bool    { return true }
func (s memorySource) Replayable() bool { return true }

func (s memorySource) Enumerate(connector.Context, []byte) (connector.Enumerator, error) {
	return memoryEnumerator(s), nil
}

func (s memorySource) NewReader(_ connector.Context, splits []connector.Split) (connector.Reader, error) {
	r := &memoryReader{fault: s.fault}
	return r, r.AddSplits(splits)
}

type memoryEnumerator struct{ fault string }

func (e memoryEnumerator) Discover(known []connector.Split) (out []connector.Split, err error) {
	if len(known) > 0 && e.fault != "known splits are found again" {
		return nil, nil
	}
	for i := range 2 {
		out = append(out, connector.Split{ID: fmt.Sprint("s", i), State: json.RawMessage(`{}`)})
	}
	return out, nil
}
func (e memoryEnumerator) Interval() time.Duration { return 0 }
func (e memoryEnumerator) Assign(s connector.Split, n int) int {
	if e.fault == "not assigned to a subtask" {
		return n
	}
	return int(s.ID[1]-'0') % n
}
func (e memoryEnumerator) Snapshot() ([]byte, error)         { return []byte(`{}`), nil }
func (e memoryEnumerator) Committed([]connector.Split) error { return nil }
func (e memoryEnumerator) Close() error                      { return nil }

type memoryReader struct {
	fault    string
	splits   []connector.Split
	from     []int64
	gaps     []int64
	restored []bool
}

func (r *memoryReader) AddSplits(splits []connector.Split) error {
	for _, s := range splits {
		r.restored = append(r.restored, s.Position > 0 && s.Position < memoryEnd)
		r.splits, r.from, r.gaps = append(r.splits, s), append(r.from, s.Position), append(r.gaps, 0)
	}
	if r.fault == "splits change their places" && len(r.splits) > 1 {
		r.splits[0], r.splits[1] = r.splits[1], r.splits[0]
	}
	return nil
}

func (r *memoryReader) Poll(b *changelog.Batch) (connector.Status, error) {
	b.Reset()
	if r.fault == "blocks" {
		<-time.After(pollLimit + time.Second/10)
	}
	for i := range r.splits {
		s := &r.splits[i]
		end := int64(memoryEnd)
		if r.fault == "ended before the last rows" {
			end -= 4
		}
		if s.Position >= end {
			continue
		}
		b.Split = i
		for n := 0; n < 4 && s.Position < end; n++ {
			r.row(b, i, s)
		}
		return connector.More, nil
	}
	if r.fault == "position moves after the end" && len(r.splits) > 0 {
		r.splits[0].Position = 0
		r.from[0] = 0
	}
	return connector.Ended, nil
}

// row appends the row at the position and passes the gap behind it.
func (r *memoryReader) row(b *changelog.Batch, i int, s *connector.Split) {
	at := s.Position
	if r.fault == "a row is lost after restore" && r.restored[i] {
		r.restored[i] = false
		s.Position += 2
		return
	}
	b.Cols[0].AppendInt64(at)
	if r.fault != "a column is shorter" {
		b.Cols[1].AppendInt64(-at)
	}
	if r.fault == "offsets are not ascending" && b.Rows > 0 {
		at = b.Offsets[b.Rows-1]
	}
	b.Offsets = append(b.Offsets, at)
	b.Rows++
	s.Position += 2
	r.gaps[i]++
	if r.fault == "positions are one too low" {
		s.Position--
	}
	if r.fault == "a gap is not in the account" {
		r.gaps[i]--
	}
}

func (r *memoryReader) Splits() []connector.Split { return append([]connector.Split(nil), r.splits...) }

func (r *memoryReader) Snapshot() ([]connector.Split, []account.Range, error) {
	var out []account.Range
	for i, s := range r.splits {
		out = append(out, account.Range{Split: s.ID, From: r.from[i], To: s.Position, Gaps: r.gaps[i]})
		if r.fault == "account begins at 0 after each" {
			continue
		}
		r.from[i] = s.Position
		if r.fault != "the counts are not per snapshot" || s.Position < memoryEnd {
			r.gaps[i] = 0
		}
	}
	return r.Splits(), out, nil
}

func (r *memoryReader) Lag() int64   { return 0 }
func (r *memoryReader) Close() error { return nil }
