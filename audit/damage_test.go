package audit

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/parquet/metadata"

	"staunch/account"
	"staunch/env/envtest"
	"staunch/fault"
	"staunch/fs/local"
)

// damage is something that happens to a good table, and what must be found then, no more and no less.
type damage struct {
	name string
	// format of the table, "" for json; both: and parquet.
	format string
	both   bool
	// every is the number of certificates a segment, 0 for none.
	every int
	do    func(l *lake)
	want  []Kind
	// fast is what is found without reading contents, if that is something else.
	fast []Kind
	// says must be in the report.
	says string
}

func (l *lake) must(err error) {
	l.t.Helper()
	if err != nil {
		l.t.Fatal(err)
	}
}

// at says where the damage is to be found.
func (l *lake) at(places ...string) { l.places = places }

func (l *lake) remove(path string) {
	l.t.Helper()
	l.must(os.RemoveAll(path))
	l.at(append(l.places, path)...)
}

func (l *lake) create(path string, b []byte) {
	l.t.Helper()
	l.must(os.MkdirAll(filepath.Dir(path), 0o777))
	l.must(os.WriteFile(path, b, 0o666))
	l.at(append(l.places, path)...)
}

func (l *lake) rename(from, to string) {
	l.t.Helper()
	l.must(os.Rename(from, to))
	l.at(append(l.places, from, to)...)
}

// exchange gives two files each other's name.
func (l *lake) exchange(a, b string) {
	l.t.Helper()
	l.must(os.Rename(a, a+".x"))
	l.rename(b, a)
	l.must(os.Rename(a+".x", b))
}

// edit changes a file's bytes.
func (l *lake) edit(path string, f func(b []byte) []byte) {
	l.t.Helper()
	b, err := os.ReadFile(path)
	l.must(err)
	next := f(slices.Clone(b))
	if bytes.Equal(b, next) {
		l.t.Fatalf("%s is not changed by this", path)
	}
	l.must(os.WriteFile(path, next, 0o666))
	l.at(append(l.places, path)...)
}

// flip changes the byte in the middle.
func flip(b []byte) []byte {
	b[len(b)/2] ^= 0x20
	return b
}

// file is a visible file of the i-th certificate.
func (l *lake) file(i, k int) account.File {
	l.t.Helper()
	_, c := l.certificate(i)
	return c.Files[k]
}

func (l *lake) copy(from, to string) {
	l.t.Helper()
	b, err := os.ReadFile(from)
	l.must(err)
	l.create(to, b)
}

// promise appends the certificate of one more checkpoint without doing anything for it.
func (l *lake) promise() (int64, account.Certificate) {
	l.t.Helper()
	c := l.write(40)
	c.Previous = l.expect.Certificate
	n := l.numbers()[len(l.numbers())-1] + 1
	l.put(n, account.KindCertificate, l.encode(&c))
	return n, c
}

func (l *lake) archives() []string {
	l.t.Helper()
	list, err := filepath.Glob(filepath.Join(l.logDir(), "archive-*"))
	l.must(err)
	if len(list) == 0 {
		l.t.Fatal("no archive")
	}
	return list
}

// lose commits a checkpoint of which one file was removed from the temporary place.
func (l *lake) lose(accept bool) account.File {
	l.t.Helper()
	c := l.write(40)
	l.must(os.Remove(c.Files[1].Pending))
	_, err := l.table.Commit(c, l.expect)
	if fault.ClassOf(err) != fault.Lost {
		l.t.Fatalf("committed without a lost file: %v", err)
	}
	if accept {
		id := string(err.Error()[strings.LastIndex(err.Error(), " ")+1:])
		l.owner.Accept, l.owner.AcceptWho = []string{id}, "operator"
		l.open()
		l.commit(c)
	}
	return c.Files[1]
}

var damages = []damage{
	// files
	{name: "edited file", both: true, do: func(l *lake) { l.edit(l.file(1, 2).Final, flip) }, want: []Kind{FileChanged}, fast: []Kind{}},
	{name: "shortened file", both: true, do: func(l *lake) { l.edit(l.file(0, 0).Final, func(b []byte) []byte { return b[:len(b)-1] }) }, want: []Kind{FileChanged}, says: "bytes long"},
	{name: "removed row", do: func(l *lake) {
		l.edit(l.file(2, 1).Final, func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] })
	}, want: []Kind{FileChanged}},
	{name: "removed file", both: true, do: func(l *lake) { l.remove(l.file(4, 3).Final) }, want: []Kind{FileMissing}, says: "events-1 offsets"},
	{name: "removed partition", do: func(l *lake) { l.remove(l.root + "/dt=2026-11-02") }, want: []Kind{FileMissing, SuccessMissing}},
	{name: "copied file", both: true, do: func(l *lake) {
		f := l.file(3, 1)
		l.copy(f.Final, filepath.Join(filepath.Dir(f.Final), "copy"+filepath.Ext(f.Final)))
	}, want: []Kind{FileForeign}},
	{name: "copied file under a name of the job's own", both: true, do: func(l *lake) {
		f := l.file(3, 1)
		n, ok := account.ParseFileName(filepath.Base(f.Final))
		if !ok {
			l.t.Fatalf("%s is no name of ours", f.Final)
		}
		n.Seq++
		l.copy(f.Final, filepath.Join(filepath.Dir(f.Final), n.String()))
	}, want: []Kind{FileForeign}, says: "is a copy of"},
	{name: "foreign file", both: true, do: func(l *lake) {
		l.create(filepath.Join(l.root, "dt=2026-11-01", "extra"+filepath.Ext(l.file(0, 0).Final)), []byte("{}\n"))
	}, want: []Kind{FileForeign}, says: "no certificate names"},
	{name: "foreign partition", do: func(l *lake) {
		l.copy(l.file(0, 0).Final, filepath.Join(l.root, "dt=2027-01-01", "x"+filepath.Ext(l.file(0, 0).Final)))
	}, want: []Kind{FileForeign}},
	{name: "foreign link", do: func(l *lake) {
		p := filepath.Join(l.root, "link"+filepath.Ext(l.file(0, 0).Final))
		l.must(os.Symlink(l.file(0, 0).Final, p))
		l.at(p)
	}, want: []Kind{FileForeign}},
	{name: "file replaced by a link", do: func(l *lake) {
		f := l.file(0, 0).Final
		l.must(os.Rename(f, l.root+"/../elsewhere"))
		l.must(os.Symlink(l.root+"/../elsewhere", f))
		l.at(f)
	}, want: []Kind{FileChanged}},
	{name: "folder in place of a file", do: func(l *lake) {
		f := l.file(0, 0).Final
		l.remove(f)
		l.must(os.Mkdir(f, 0o777))
	}, want: []Kind{FileChanged}},
	{name: "two files exchanged", both: true, do: func(l *lake) {
		l.exchange(l.file(0, 0).Final, l.file(1, 0).Final)
	}, want: []Kind{FileChanged}},
	{name: "two partition folders exchanged", do: func(l *lake) {
		l.exchange(filepath.Join(l.root, "dt=2026-11-01"), filepath.Join(l.root, "dt=2026-11-03"))
	}, want: []Kind{FileForeign, FileMissing}},
	{name: "file in the wrong partition", both: true, do: func(l *lake) {
		f := l.file(2, 0).Final
		l.rename(f, filepath.Join(l.root, "dt=2026-11-02", filepath.Base(f)))
	}, want: []Kind{FileForeign, FileMissing}},
	{name: "file back in the temporary folder", do: func(l *lake) {
		f := l.file(1, 1)
		l.must(os.MkdirAll(filepath.Dir(f.Pending), 0o777))
		l.rename(f.Final, f.Pending)
		l.at(f.Final)
	}, want: []Kind{FileMissing}},
	{name: "empty file under the right name", both: true, do: func(l *lake) {
		l.edit(l.file(0, 1).Final, func([]byte) []byte { return nil })
	}, want: []Kind{FileChanged}, says: "0 bytes long"},
	{name: "rows exchanged between partitions", do: func(l *lake) { // lengths stay
		a, b := l.file(0, 0).Final, l.file(0, 1).Final
		first := func(p string) []byte {
			text, err := os.ReadFile(p)
			l.must(err)
			return text[:bytes.IndexByte(text, '\n')+1]
		}
		x, y := first(a), first(b)
		if len(x) != len(y) {
			l.t.Fatalf("rows of different lengths: %s %s", x, y)
		}
		l.edit(a, func(text []byte) []byte { return append(slices.Clone(y), text[len(x):]...) })
		l.edit(b, func(text []byte) []byte { return append(slices.Clone(x), text[len(y):]...) })
	}, want: []Kind{FileChanged}, fast: []Kind{}},
	{name: "row group removed", format: "parquet", do: func(l *lake) { l.edit(l.file(1, 0).Final, withoutRowGroup) }, want: []Kind{FileChanged}},
	{name: "row group removed and forged", format: "parquet", do: func(l *lake) {
		f := l.file(1, 0).Final
		l.edit(f, withoutRowGroup)
		b, err := os.ReadFile(f)
		l.must(err)
		l.forge(l.nth("certificate", 1), func(c *account.Certificate) { c.Files[0].Length, c.Files[0].Sums = int64(len(b)), account.SumsOf(b) })
		l.at(f)
	}, want: []Kind{FileFooter}, says: "rows, not"},
	{name: "a letter changed, forged to the same XXH128, in a table with SHA-256", do: func(l *lake) {
		f := l.file(1, 0).Final
		b, err := os.ReadFile(f)
		l.must(err)
		sha := bothSums(b).SHA256
		l.edit(f, func(text []byte) []byte { return bytes.Replace(text, []byte("v"), []byte("w"), 1) })
		b, err = os.ReadFile(f)
		l.must(err)
		l.forge(l.nth("certificate", 1), func(c *account.Certificate) {
			c.Files[0].Sums = account.Sums{XXH128: account.SumsOf(b).XXH128, SHA256: sha}
		})
		l.at(f)
	}, want: []Kind{FileChanged}, fast: []Kind{}, says: "another SHA-256"},
	{name: "a letter changed, and its checksum taken out of a forged certificate", do: func(l *lake) {
		l.edit(l.file(1, 0).Final, func(text []byte) []byte { return bytes.Replace(text, []byte("v"), []byte("w"), 1) })
		l.at()
		l.forge(l.nth("certificate", 1), func(c *account.Certificate) { c.Files[0].Sums = account.Sums{} })
	}, want: []Kind{EntryDamaged}, says: "without a checksum"},
	{name: "checksum that is no text in the newest certificate", do: func(l *lake) {
		l.change(l.nth("certificate", 4), func(b string) string {
			return regexp.MustCompile(`"xxh128":"[0-9a-f]+"`).ReplaceAllString(b, `"xxh128":[]`)
		})
	}, want: []Kind{EntryDamaged, FileForeign}},
	{name: "files without checksums said to be from folders, forged", do: func(l *lake) {
		l.forge(l.nth("certificate", 1), func(c *account.Certificate) {
			c.FromDirectories = []string{"_DUMP_TEMPORARY/cp-2/task-0"}
			for i := range c.Files {
				c.Files[i].Sums = account.Sums{}
			}
		})
	}, want: []Kind{EntryDamaged}, says: "without a checksum"},
	{name: "a letter changed, in a table of an earlier build, with SHA-256 alone", do: func(l *lake) {
		l.earlier(1)
		l.edit(l.file(1, 0).Final, func(text []byte) []byte { return bytes.Replace(text, []byte("v"), []byte("w"), 1) })
		l.at(l.file(1, 0).Final)
	}, want: []Kind{FileChanged}, fast: []Kind{}, says: "another SHA-256"},
	{name: "copied file of an earlier build, with SHA-256 alone", do: func(l *lake) {
		l.earlier(3)
		l.at()
		l.copy(l.file(3, 1).Final, filepath.Join(l.root, "copy.json"))
	}, want: []Kind{FileForeign}, says: "is a copy of"},
	{name: "no Parquet, and forged", format: "parquet", do: func(l *lake) {
		f := l.file(1, 0).Final
		l.edit(f, func([]byte) []byte { return []byte("not a Parquet file\n") })
		l.forge(l.nth("certificate", 1), func(c *account.Certificate) {
			c.Files[0].Length, c.Files[0].Sums = 19, account.SumsOf([]byte("not a Parquet file\n"))
		})
		l.at(f)
	}, want: []Kind{FileFooter}, says: "no readable Parquet file"},
	{name: "other length, right hash in a forged certificate", do: func(l *lake) {
		l.forge(l.nth("certificate", 1), func(c *account.Certificate) { c.Files[2].Length++ })
		l.at(l.file(1, 2).Final)
	}, want: []Kind{FileChanged}, says: "bytes long"},
	// success files
	{name: "success file removed", do: func(l *lake) { l.remove(l.root + "/dt=2026-11-02/_SUCCESS") }, want: []Kind{SuccessMissing}},
	{name: "success file too early", do: func(l *lake) { l.create(l.root+"/dt=2026-11-01/_SUCCESS", nil) }, want: []Kind{SuccessForeign}},
	// the log
	{name: "certificate with swapped bytes", both: true, do: func(l *lake) { l.edit(l.entry(l.nth("certificate", 2)), flip) }, want: []Kind{EntryDamaged, FileForeign, RangeGap}, says: "events-0 offsets 1080..1119"},
	{name: "truncated certificate", do: func(l *lake) {
		l.edit(l.entry(l.nth("certificate", 2)), func(b []byte) []byte { return b[:len(b)/2] })
	}, want: []Kind{EntryDamaged, FileForeign, RangeGap}},
	{name: "empty entry", do: func(l *lake) { l.edit(l.entry(l.nth("done", 1)), func([]byte) []byte { return nil }) }, want: []Kind{EntryDamaged}},
	{name: "certificate removed", do: func(l *lake) { l.remove(l.entry(l.nth("certificate", 1))) }, want: []Kind{EntryMissing, FileForeign, RangeGap}},
	{name: "done removed", do: func(l *lake) { l.remove(l.entry(l.nth("done", 1))) }, want: []Kind{EntryMissing}},
	{name: "beginning removed", do: func(l *lake) { l.remove(l.entry(1)) }, want: []Kind{EntryMissing}, says: "entry 1 is missing"},
	{name: "folder for an entry", do: func(l *lake) {
		p := l.entry(l.nth("done", 0))
		l.remove(p)
		l.must(os.Mkdir(p, 0o777))
	}, want: []Kind{EntryDamaged}},
	{name: "certificate changed with a fitting header", do: func(l *lake) {
		l.change(l.nth("certificate", 1), func(b string) string { return strings.Replace(b, `"plan":"plan"`, `"plan":"other"`, 1) })
		l.at(l.entry(l.nth("done", 1))) // it names the one that stood there
	}, want: []Kind{ChainBroken, Order}},
	{name: "done changed", do: func(l *lake) {
		l.change(l.nth("done", 1), func(b string) string { return strings.Replace(b, `"renamed",`, ``, 1) })
	}, want: []Kind{VerdictsWrong}},
	{name: "verdict unknown", do: func(l *lake) {
		l.change(l.nth("done", 1), func(b string) string { return strings.Replace(b, `"renamed",`, `"gone",`, 1) })
	}, want: []Kind{VerdictsWrong}},
	{name: "counters changed", do: func(l *lake) {
		l.change(l.nth("done", 1), func(b string) string { return strings.Replace(b, `"numFilesLost":0`, `"numFilesLost":1`, 1) })
	}, want: []Kind{VerdictsWrong}},
	{name: "certificate doubled at the end", do: func(l *lake) {
		_, body := l.read(l.nth("certificate", 4))
		l.put(l.numbers()[len(l.numbers())-1]+1, "certificate", body)
	}, want: []Kind{ChainBroken, Order, RangeOverlap}},
	{name: "done doubled", do: func(l *lake) {
		_, body := l.read(l.nth("done", 2))
		l.put(l.numbers()[len(l.numbers())-1]+1, "done", body)
	}, want: []Kind{ChainBroken}},
	{name: "certificates exchanged", do: func(l *lake) { l.exchange(l.entry(l.nth("certificate", 1)), l.entry(l.nth("certificate", 2))) },
		want: []Kind{ChainBroken, Order, RangeGap, RangeOverlap}},
	{name: "certificate of another job", do: func(l *lake) {
		other := openLake(l.t, filepath.Join(filepath.Dir(l.root), "other"), "other", strings.TrimPrefix(filepath.Ext(l.file(0, 0).Final), "."), 0)
		other.checkpoints(2)
		l.copy(other.entry(other.nth("certificate", 1)), l.entry(l.nth("certificate", 1)))
	}, want: []Kind{ChainBroken, Fence, FileForeign, FileLost, Order}},
	{name: "entry of a newer version", do: func(l *lake) {
		l.edit(l.entry(l.nth("done", 1)), func(b []byte) []byte { return bytes.Replace(b, []byte("staunch-log 1 "), []byte("staunch-log 2 "), 1) })
	}, want: []Kind{EntryUnknown}, says: "version that wrote it"},
	{name: "accept removed", do: func(l *lake) {
		f := l.lose(true)
		l.remove(l.entry(l.nth("accept", 0)))
		l.at(append(l.places, f.Final)...)
	}, want: []Kind{EntryMissing, FileLost}},
	{name: "content that is no JSON", do: func(l *lake) { l.change(l.nth("certificate", 4), func(b string) string { return b[:len(b)-1] }) }, want: []Kind{EntryDamaged, FileForeign}},
	{name: "entry of an unknown kind", do: func(l *lake) { l.put(l.numbers()[len(l.numbers())-1]+1, "riddle", "{}") }, want: []Kind{EntryUnknown}},
	{name: "claim of an older epoch", do: func(l *lake) {
		l.change(l.nth("claim", 1), func(b string) string { return strings.Replace(b, `"epoch":4`, `"epoch":0`, 1) })
	}, want: []Kind{Fence, Order}},
	{name: "written past a fence", do: func(l *lake) {
		l.change(l.nth("claim", 1), func(b string) string { return strings.Replace(b, `"log_id":"11`, `"log_id":"22`, 1) })
		l.at(l.entry(l.nth("certificate", 3)))
	}, want: []Kind{Fence}},
	{name: "certificate before done", do: func(l *lake) {
		n, _ := l.promise()
		b, err := os.ReadFile(l.entry(n))
		l.must(err)
		l.expect.Certificate = hashOf(string(b))
		n, _ = l.promise()
		l.at(l.entry(n))
	}, want: []Kind{Order}},
	// the log, with every hash made to fit
	{name: "sets exchanged", format: "parquet", do: func(l *lake) {
		l.forge(l.nth("certificate", 1), func(c *account.Certificate) {
			c.Files[0].Offsets, c.Files[1].Offsets = c.Files[1].Offsets, c.Files[0].Offsets
			c.Files[0].Rows, c.Files[1].Rows = c.Files[1].Rows, c.Files[0].Rows
		})
		l.at(l.file(1, 0).Final, l.file(1, 1).Final)
	}, want: []Kind{FileFooter}},
	{name: "row removed and forged", do: func(l *lake) {
		f := l.file(1, 1)
		l.edit(f.Final, func(b []byte) []byte { return b[bytes.IndexByte(b, '\n')+1:] })
		b, err := os.ReadFile(f.Final)
		l.must(err)
		l.forge(l.nth("certificate", 1), func(c *account.Certificate) { c.Files[1].Length, c.Files[1].Sums = int64(len(b)), account.SumsOf(b) })
		l.at(f.Final)
	}, want: []Kind{FileFooter}, fast: []Kind{}},
	{name: "range beginning late", do: func(l *lake) {
		l.forge(l.nth("certificate", 1), func(c *account.Certificate) { c.Ranges[0].From++ })
	}, want: []Kind{AccountOpen, OffsetsOutside, RangeGap}},
	{name: "range beginning early", do: func(l *lake) {
		l.forge(l.nth("certificate", 1), func(c *account.Certificate) { c.Ranges[0].From--; c.Ranges[0].Gaps++ })
	}, want: []Kind{RangeOverlap}},
	{name: "account that does not close", do: func(l *lake) {
		l.forge(l.nth("certificate", 1), func(c *account.Certificate) { c.Ranges[1].Filtered-- })
	}, want: []Kind{AccountOpen}},
	{name: "negative count", do: func(l *lake) {
		l.forge(l.nth("certificate", 4), func(c *account.Certificate) { c.Ranges[1].Filtered = -3; c.Ranges[1].Null += c.Ranges[1].Filtered + 3 })
	}, want: []Kind{AccountOpen, RangeDamaged}},
	{name: "offset in two files", do: func(l *lake) {
		l.forge(l.nth("certificate", 1), func(c *account.Certificate) {
			c.Files[0].Offsets[0].Set.Add(c.Files[1].Offsets[0].Set.Runs[0].From)
			c.Ranges[0].Filtered--
		})
	}, want: []Kind{AccountOpen, OffsetsTwice}},
	{name: "offset outside the range", do: func(l *lake) {
		l.forge(l.nth("certificate", 1), func(c *account.Certificate) {
			c.Files[0].Offsets[0].Set.Add(99)
			c.Files[0].Rows++
		})
	}, want: []Kind{AccountOpen, FileFooter, OffsetsOutside}, fast: []Kind{AccountOpen, OffsetsOutside}},
	{name: "file dropped from a certificate", do: func(l *lake) {
		l.forge(l.nth("certificate", 4), func(c *account.Certificate) { c.Files = c.Files[1:] })
	}, want: []Kind{AccountOpen, FileForeign, VerdictsWrong}},
	{name: "file outside the table", do: func(l *lake) {
		l.forge(l.nth("certificate", 4), func(c *account.Certificate) { c.Files[0].Final = l.root + "/../outside" })
	}, want: []Kind{FileForeign, FileOutside}},
	{name: "file named twice", do: func(l *lake) {
		f := l.file(0, 0).Final
		l.forge(l.nth("certificate", 4), func(c *account.Certificate) { c.Files[0].Final = f })
	}, want: []Kind{FileChanged, FileForeign, Order}},
	// archives
	{name: "archive with a changed byte", every: 2, do: func(l *lake) {
		l.edit(l.archives()[0], func(b []byte) []byte { return bytes.Replace(b, []byte(`"plan":"plan"`), []byte(`"plan":"plon"`), 1) })
	}, want: []Kind{ArchiveDamaged, EntryDamaged, FileForeign}},
	{name: "archive removed", every: 2, do: func(l *lake) { l.remove(l.archives()[0]) }, want: []Kind{ArchiveDamaged, FileForeign}},
	{name: "archive shortened", every: 2, do: func(l *lake) { l.edit(l.archives()[1], func(b []byte) []byte { return b[:len(b)-10] }) }, want: []Kind{ArchiveDamaged, EntryMissing}},
	{name: "archive with a damaged index", every: 2, do: func(l *lake) {
		l.edit(l.archives()[0], func(b []byte) []byte { return append([]byte("9"), b...) })
	}, want: []Kind{ArchiveDamaged, EntryMissing, FileForeign}},
	{name: "segment damaged", every: 2, do: func(l *lake) { l.edit(l.entry(l.nth("segment", -1)), flip) }, want: []Kind{EntryDamaged}},
	{name: "segment removed", every: 2, do: func(l *lake) {
		l.remove(l.entry(l.nth("segment", -1)))
		l.at(l.entry(1)) // nothing says any more what lay before it
	}, want: []Kind{EntryMissing, FileForeign}},
	{name: "archives exchanged", every: 2, do: func(l *lake) { l.exchange(l.archives()[0], l.archives()[1]) },
		want: []Kind{ArchiveDamaged, EntryMissing, FileForeign}},
	{name: "archive of another table", every: 2, do: func(l *lake) {
		other := openLake(l.t, filepath.Join(filepath.Dir(l.root), "other"), l.job, strings.TrimPrefix(filepath.Ext(l.file(0, 0).Final), "."), 2)
		other.checkpoints(2)
		l.copy(other.archives()[0], l.archives()[0])
	}, want: []Kind{ArchiveDamaged, ChainBroken, FileForeign, FileMissing}},
	// going back
	{name: "superseded file is visible", both: true, do: func(l *lake) {
		l.rewind(3)
		l.copy(l.taken(), l.file(4, 0).Final)
	}, want: []Kind{FileSuperseded}, says: "which a rewind took back"},
	{name: "superseded file moved back", do: func(l *lake) {
		f := l.file(4, 0).Final
		l.rewind(3)
		l.rename(l.taken(), f)
		l.at(f)
	}, want: []Kind{FileSuperseded}},
	{name: "superseded file is pending", do: func(l *lake) {
		l.rewind(3)
		l.copy(l.taken(), l.file(4, 0).Pending)
	}, want: []Kind{FileSuperseded}},
	{name: "superseded file is visible behind a segment", every: 6, do: func(l *lake) {
		f := l.file(4, 0).Final
		l.rewind(2)
		l.checkpoints(3)
		l.nth("segment", 0)
		l.copy(l.taken(), f)
	}, want: []Kind{FileSuperseded}},
	{name: "supersede with another list", do: func(l *lake) {
		l.rewind(3)
		l.change(l.nth("supersede", 0), func(b string) string { return strings.Replace(b, `"certificates":["`, `"certificates":["00","`, 1) })
	}, want: []Kind{ChainBroken}},
	{name: "supersede damaged", do: func(l *lake) {
		l.rewind(3)
		l.edit(l.entry(l.nth("supersede", 0)), flip)
	}, want: []Kind{EntryDamaged, FileMissing}},
	{name: "supersede that is no JSON", do: func(l *lake) {
		l.rewind(3)
		l.change(l.nth("supersede", 0), func(b string) string { return b[1:] })
	}, want: []Kind{EntryDamaged, FileMissing}},
	{name: "rewound of another rewind", do: func(l *lake) {
		l.rewind(3)
		l.change(l.nth("rewound", 0), func(b string) string { return strings.Replace(b, `"supersede":"`, `"supersede":"0`, 1) })
	}, want: []Kind{ChainBroken}},
	{name: "rewound damaged", do: func(l *lake) {
		l.rewind(3)
		l.edit(l.entry(l.nth("rewound", 0)), flip)
	}, want: []Kind{EntryDamaged}},
	{name: "certificate before rewound", do: func(l *lake) {
		l.rewind(3)
		l.remove(l.entry(l.nth("rewound", 0)))
		l.promise() // takes its place
	}, want: []Kind{Order}},
	{name: "rewind past a fence", do: func(l *lake) {
		l.rewind(3)
		l.change(l.nth("claim", -1), func(b string) string { return strings.Replace(b, `"epoch":9`, `"epoch":8`, 1) })
		l.at(l.entry(l.nth("supersede", 0)))
	}, want: []Kind{Fence}},
	{name: "keep damaged", do: func(l *lake) {
		l.keep(3)
		l.checkpoints(1)
		l.edit(l.entry(l.nth("keep", 0)), flip)
	}, want: []Kind{EntryDamaged, RangeOverlap}},
	{name: "keep of another end", do: func(l *lake) {
		l.keep(3)
		l.change(l.nth("keep", 0), func(b string) string {
			return strings.Replace(b, `"chain":{"certificate":"`, `"chain":{"certificate":"0`, 1)
		})
	}, want: []Kind{ChainBroken}},
	{name: "gap behind keep", do: func(l *lake) {
		l.keep(3)
		l.next[0] += 100
		l.checkpoints(1)
		l.at(l.entry(l.nth("certificate", -1)))
	}, want: []Kind{RangeGap}},
	{name: "kept twice by one entry", do: func(l *lake) {
		l.keep(3)
		at := l.next
		l.checkpoints(1)
		l.next = at
		l.checkpoints(1)
		l.at(l.entry(l.nth("certificate", -1)))
	}, want: []Kind{RangeOverlap}},
	// losses
	{name: "lost file", both: true, do: func(l *lake) { l.at(l.lose(false).Final) }, want: []Kind{FileLost}, says: "--accept-lost 6-"},
	{name: "pending file of another length", both: true, do: func(l *lake) {
		_, c := l.promise()
		l.must(os.Truncate(c.Files[0].Pending, 5))
		l.at(c.Files[0].Pending)
	}, want: []Kind{FileChanged}},
	{name: "pending file removed", do: func(l *lake) {
		_, c := l.promise()
		l.remove(c.Files[0].Pending)
		l.at(c.Files[0].Final)
	}, want: []Kind{FileLost}},
	// two jobs
	{name: "two jobs over one topic", do: func(l *lake) {
		other := openLake(l.t, l.root, "copy", strings.TrimPrefix(filepath.Ext(l.file(0, 0).Final), "."), 0)
		other.checkpoints(1)
		l.at(l.root)
	}, want: []Kind{TwoJobs}},
}

func TestDamages(t *testing.T) {
	for _, d := range slices.Concat(damages, mended) {
		formats := []string{cmp.Or(d.format, "json")}
		if d.both {
			formats = append(formats, "parquet")
		}
		for _, f := range formats {
			t.Run(d.name+"/"+f, func(t *testing.T) {
				t.Parallel()
				l := standard(t, f, d.every)
				d.do(l)
				r := l.audit(Options{})
				slices.Sort(d.want)
				if got := kinds(r); !slices.Equal(got, d.want) || r.Verdict != Wrong {
					t.Errorf("found %v, expected %v\n%s", got, d.want, text(r))
				}
				l.named(r)
				if !strings.Contains(text(r), d.says) {
					t.Errorf("%q is not said\n%s", d.says, text(r))
				}
				if d.fast == nil {
					return
				}
				if got := kinds(l.audit(Options{Fast: true})); !slices.Equal(got, d.fast) {
					t.Errorf("--fast found %v, expected %v", got, d.fast)
				}
			})
		}
	}
}

// tells reports whether a finding with this path, entry and text is about the place.
func tells(place, path, what string, entry int64) bool {
	if place == path || strings.HasPrefix(path, place+"/") {
		return true
	}
	n, err := strconv.ParseInt(strings.TrimSuffix(filepath.Base(place), ".staunch"), 10, 64)
	return err == nil && (entry == n || strings.Contains(what, fmt.Sprintf("entry %d ", n)))
}

// named checks that every damaged place is in the report of both programs.
func (l *lake) named(r *Report) {
	l.t.Helper()
	if len(l.places) == 0 {
		l.t.Error("nothing was damaged")
	}
	all := slices.Clone(r.Problems)
	for _, j := range r.Jobs {
		all = append(all, j.Problems...)
	}
	v, ok := l.verified, l.verified.Verdict != ""
	for _, place := range l.places {
		if !slices.ContainsFunc(all, func(p Problem) bool { return tells(place, p.Path, p.What, p.Entry) }) {
			l.t.Errorf("the audit does not name %s\n%s", place, text(r))
		}
		if ok && !slices.ContainsFunc(v.Problems, func(p verifiedProblem) bool { return tells(place, p.Path, p.What, p.Entry) }) {
			l.t.Errorf("the verifier does not name %s: %+v", place, v.Problems)
		}
	}
}

// withoutRowGroup takes the last row group out of a Parquet file's footer, as a tool that rewrites it would.
func withoutRowGroup(b []byte) []byte {
	end := len(b) - 8
	length := int(binary.LittleEndian.Uint32(b[end:]))
	m, err := metadata.NewFileMetaData(b[end-length:end], nil)
	if err != nil {
		panic(err)
	}
	last := len(m.RowGroups) - 1
	m.NumRows -= m.RowGroups[last].NumRows
	m.RowGroups = m.RowGroups[:last]
	out := bytes.NewBuffer(slices.Clone(b[:end-length]))
	n, err := m.WriteTo(out, nil)
	if err != nil {
		panic(err)
	}
	return append(binary.LittleEndian.AppendUint32(out.Bytes(), uint32(n)), parquetMagic...)
}

func TestCopyIsNamed(t *testing.T) {
	l := standard(t, "json", 2)
	f := l.file(0, 0)
	l.copy(f.Final, l.root+"/dt=2026-11-01/again"+filepath.Ext(f.Final))
	r := l.audit(Options{})
	if len(r.Problems) != 1 || !strings.Contains(r.Problems[0].What, "copy of "+f.Final) || len(r.Problems[0].Offsets) != 1 ||
		r.Problems[0].Offsets[0].Count != f.Rows {
		t.Error(text(r))
	}
}

func TestAcceptedLoss(t *testing.T) {
	l := standard(t, "json", 0)
	f := l.lose(true)
	l.checkpoints(1)
	r := l.audit(Options{})
	if r.Verdict != Clean || len(r.Jobs[0].Losses) != 1 {
		t.Fatal(text(r))
	}
	loss := r.Jobs[0].Losses[0]
	if loss.Path != f.Final || loss.Rows != f.Rows || !strings.HasPrefix(loss.Accepted, "operator ") || loss.Offsets[0].Offsets != f.Offsets[0].Set.String() {
		t.Errorf("%+v", loss)
	}
	if got := r.Jobs[0].Splits[0].Lost; got != f.Rows {
		t.Errorf("%d rows lost, expected %d", got, f.Rows)
	}
	if !strings.Contains(text(r), "accepted loss: "+f.Final) {
		t.Error(text(r))
	}
}

// TestCommitting: a certificate without done is no fault, wherever its files are.
func TestCommitting(t *testing.T) {
	l := standard(t, "parquet", 2)
	_, c := l.promise()
	for i := range len(c.Files) + 1 {
		r := l.audit(Options{})
		if r.Verdict != Committing || r.Count() != 0 || r.Jobs[0].Pending != int64(len(c.Files)-i) || r.Jobs[0].Files != int64(30+i) {
			t.Fatalf("%d of %d files renamed:\n%s", i, len(c.Files), text(r))
		}
		if i < len(c.Files) {
			l.must(os.Rename(c.Files[i].Pending, c.Files[i].Final))
		}
	}
}

// TestLateCreate: the creation of a pending file arrives again, after the file was renamed.
func TestLateCreate(t *testing.T) {
	l := standard(t, "json", 0)
	_, c := l.promise()
	l.must(os.Rename(c.Files[0].Pending, c.Files[0].Final))
	l.must(os.WriteFile(c.Files[0].Pending, nil, 0o666))
	if r := l.audit(Options{}); r.Verdict != Committing || r.Jobs[0].Pending != int64(len(c.Files)-1) || r.Jobs[0].Files != 31 {
		t.Error(text(r))
	}
}

func TestMovedTable(t *testing.T) {
	l := standard(t, "json", 2)
	to := filepath.Join(filepath.Dir(l.root), "elsewhere")
	l.must(os.Rename(l.root, to))
	was := l.root
	l.root = to
	r := l.audit(Options{})
	if r.Verdict != Clean || r.Jobs[0].Files != 30 || !strings.Contains(text(r), "written at "+was) {
		t.Error(text(r))
	}
}

func TestNoLog(t *testing.T) {
	l := newLake(t, "json", 0)
	l.must(os.RemoveAll(l.root + "/_staunch"))
	if r := l.audit(Options{}); r.Verdict != Wrong || !slices.Equal(kinds(r), []Kind{NoLog}) || !strings.Contains(text(r), "--columns part,off, or --names connect") {
		t.Error(text(r))
	}
	l.must(os.RemoveAll(l.root))
	if r := l.audit(Options{}); r.Verdict != Wrong || !slices.Equal(kinds(r), []Kind{NoLog}) || !strings.Contains(text(r), "does not exist") {
		t.Error(text(r))
	}
}

func TestClaimedOnly(t *testing.T) {
	l := newLake(t, "json", 0)
	if r := l.audit(Options{}); r.Verdict != Clean || r.Jobs[0].Certificates != 0 {
		t.Error(text(r))
	}
}

func TestSuccessName(t *testing.T) {
	l := standard(t, "json", 0)
	l.must(os.Rename(l.root+"/dt=2026-11-02/_SUCCESS", l.root+"/dt=2026-11-02/READY"))
	if r := l.audit(Options{Success: "READY"}); r.Verdict != Clean {
		t.Error(text(r))
	}
	r, err := Table(context.Background(), &envtest.Quick{}, local.New(), l.root, Options{}) // the verifier knows one name only
	if err != nil || r.Verdict != Clean || len(r.Notes) != 1 {
		t.Error(text(r), err)
	}
	if r := l.audit(Options{Success: "_SUCCESS"}); !slices.Equal(kinds(r), []Kind{SuccessMissing}) {
		t.Error(text(r))
	}
}

// TestAccountsNeedNotClose: a plan that makes several rows of a record may have an offset in two files.
func TestAccountsNeedNotClose(t *testing.T) {
	l := newLake(t, "json", 0)
	l.close = false
	c := l.write(40)
	c.Files[0].Offsets[0].Set.Union(c.Files[1].Offsets[0].Set)
	l.commit(c)
	r := l.audit(Options{})
	if r.Verdict != Clean || r.Jobs[0].AccountsClose {
		t.Error(text(r))
	}
}

// TestManyProblems: what is listed is bounded.
func TestManyProblems(t *testing.T) {
	l := standard(t, "json", 0)
	for i := range maxListed + 20 {
		l.must(os.WriteFile(fmt.Sprintf("%s/x%d%s", l.root, i, filepath.Ext(l.file(0, 0).Final)), nil, 0o666))
	}
	if r := l.audit(Options{}); len(r.Problems) != maxListed || r.More != 20 || r.Count() != maxListed+20 || !strings.Contains(text(r), "and 970 more") {
		t.Errorf("%d problems, %d more", len(r.Problems), r.More)
	}
}
