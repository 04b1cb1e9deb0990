package rows

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"staunch/changelog"
	"staunch/connector"
	"staunch/connector/connectortest"
	"staunch/types"
)

var columns = []connector.Column{{Name: "a", Type: types.New(types.BigInt)}, {Name: "b", Type: types.String_}, {Name: "c", Type: types.New(types.Boolean)},
	{Name: "d", Type: types.NewTimestampLTZ(3)}, {Name: "e", Type: types.New(types.Int)}}

func schema(cols []connector.Column) (s changelog.Schema) {
	for _, c := range cols {
		s = append(s, changelog.Field{Name: c.Name, Type: c.Type})
	}
	return s
}

func counted(n int) Read {
	return func(yield func(Row) error) error {
		for i := range n {
			var text any
			if i%3 > 0 {
				text = fmt.Sprint("x", i)
			}
			if err := yield(Row{int64(i), text, i%2 == 0, time.UnixMilli(int64(i)), i}); err != nil {
				return err
			}
		}
		return nil
	}
}

// readAll reads to the end or to an error.
func readAll(t *testing.T, s connector.Source, cols []connector.Column) (out []string, err error) {
	t.Helper()
	k := connectortest.NewTask(t, s, schema(cols), connectortest.Discover(t, s, nil, nil), io.Discard)
	for {
		b, status, err := k.Next()
		if err != nil {
			return out, err
		}
		for i := range b.Rows {
			out = append(out, connectortest.RowText(b, i))
		}
		if status == connector.Ended {
			k.Close()
			return out, nil
		}
	}
}

// TestRows: all rows come in order, of the wanted columns only.
func TestRows(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, n := range []int{0, 1, chunk, 10*chunk + 7} {
			wanted := []connector.Column{columns[3], columns[0], columns[1], columns[4]}
			s, err := New(columns, wanted, counted(n))
			if err != nil {
				t.Fatal(err)
			}
			got, err := readAll(t, s, wanted)
			if err != nil || len(got) != n {
				t.Fatalf("%d rows of %d: %v", len(got), n, err)
			}
			for i, row := range got {
				if !strings.Contains(row, fmt.Sprintf("|%d|", i)) || !strings.HasSuffix(row, fmt.Sprintf("|%d", i)) {
					t.Fatalf("row %d is %s", i, row)
				}
			}
		}
	})
}

// TestTimes: a time is the same instant in every precision, and the zero time is NULL.
func TestTimes(t *testing.T) {
	now := time.Date(2026, 11, 29, 21, 34, 46, 123456789, time.UTC)
	for p, want := range map[int]string{0: "1795988086123", 3: "1795988086123", 6: "1795988086123456", 9: "1795988086123456789"} {
		c := changelog.NewColumn(types.NewTimestampLTZ(p))
		for _, x := range []any{now, time.Time{}} {
			if err := appendValue(c, x); err != nil {
				t.Fatal(err)
			}
		}
		if got := fmt.Sprint(c.I64[0]); got != want || !c.IsNull(1) {
			t.Errorf("precision %d: %s, want %s", p, got, want)
		}
	}
}

// TestErrorEndsTheQuery: what could not be computed is no end of the table.
func TestErrorEndsTheQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bad := errors.New("damaged")
		s, err := New(columns, columns[:1], func(yield func(Row) error) error {
			return errors.Join(counted(5)(yield), bad)
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(t, s, columns[:1]); !errors.Is(err, bad) {
			t.Error(err)
		}
		s, err = New(columns, columns[:1], func(yield func(Row) error) error { return yield(Row{"text", nil, nil, nil, nil}) })
		if err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(t, s, columns[:1]); err == nil {
			t.Error("a text is taken for a number")
		}
		if _, err := New(columns, []connector.Column{{Name: "z"}}, counted(1)); err == nil {
			t.Error("a column that is none")
		}
	})
}

// TestCloseEndsTheComputing: rows that nobody reads are not computed for ever.
func TestCloseEndsTheComputing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		given, ended := 0, false
		s, err := New(columns, columns[:1], func(yield func(Row) error) error {
			defer func() { ended = true }()
			for {
				given++
				if err := yield(Row{int64(1), nil, nil, nil, nil}); err != nil {
					return err
				}
			}
		})
		if err != nil {
			t.Fatal(err)
		}
		k := connectortest.NewTask(t, s, schema(columns[:1]), connectortest.Discover(t, s, nil, nil), io.Discard)
		if _, _, err := k.Next(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if given > (ahead+3)*chunk {
			t.Errorf("%d rows were computed for one batch", given)
		}
		k.Close()
		synctest.Wait()
		if !ended {
			t.Error("it goes on")
		}
	})
}
