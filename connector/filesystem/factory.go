package filesystem

import (
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"staunch/config"
	"staunch/connector"
	"staunch/fault"
	"staunch/format"
	"staunch/fs"
	"staunch/types"
)

// Factory makes the sinks of `'connector' = 'filesystem'`.
var Factory = connector.Factory{Name: "filesystem", Options: options, Own: StaunchOptions, Sink: newSink}

// sink is one table. It is shared by the writers of all subtasks and does not change, but for the probe's result.
type sink struct {
	name  string
	store fs.FS
	root  string
	ext   string
	files format.FileFormat
	// columns is the number of physical columns; fileColumns are those that stand in files.
	columns     int
	fileColumns []int
	layout      layout
	roll        rolling
	parallelism int
	// cleanup: leftovers of ended attempts are deleted from a task's folder before its first file.
	cleanup bool
	// ttl is the age at which somebody else removes files that are not visible yet; 0: nobody does.
	ttl time.Duration
	// sha256: files are certified by SHA-256, too.
	sha256 bool
	// schema is the table's columns and partition keys as JSON, for the footers.
	schema string
	commit *partitionCommit
	probe  probe
}

var (
	_ connector.FileTable       = (*sink)(nil)
	_ connector.PartitionReader = (*sink)(nil)
	_ connector.Replacer        = (*sink)(nil)
	_ connector.Guarantee       = (*sink)(nil)
	_ connector.Prober          = (*sink)(nil)
	_ connector.Perishable      = (*sink)(nil)
	_ connector.Flusher         = (*writer)(nil)
)

// newSink binds the options of one table.
func newSink(t connector.Table) (connector.Sink, error) {
	name := t.Options.String(keyFormat)
	ff, ok := t.Formats(name)
	if t.Options.Has(keyFormat) && (!ok || ff.FileWriter == nil) {
		return nil, &fault.Error{Class: fault.User, Err: t.Options.Errorf(keyFormat, "files of this format cannot be written here")}
	}
	v, _, err := t.Options.Check(append(slices.Clone(options), config.Prefixed(ff.Name+".", ff.Options)...))
	if err != nil {
		return nil, &fault.Error{Class: fault.User, Err: err}
	}
	s := &sink{name: t.Name, ext: strings.TrimPrefix(ff.Extension, "."), columns: len(t.Columns)}
	if err := s.bind(t, v); err != nil {
		return nil, userError(err)
	}
	if s.files, err = s.openFormat(t, ff, v); err != nil {
		return nil, userError(err)
	}
	if s.store, s.root, err = t.Stores.Resolve(v.String(keyPath)); err != nil {
		return nil, fmt.Errorf("table %s: path '%s': %w", t.Name, v.String(keyPath), err)
	}
	if s.root = path.Clean(s.root); s.root == "/" || !path.IsAbs(s.root) {
		return nil, userError(v.Errorf(keyPath, "the table needs a folder of its own"))
	}
	if s.commit != nil {
		s.commit.store, s.commit.root, s.commit.table = s.store, s.root, s.name
	}
	return s, nil
}

// userError classifies err unless the place that made it did.
func userError(err error) error {
	var e *fault.Error
	if errors.As(err, &e) {
		return err
	}
	return &fault.Error{Class: fault.User, Err: err}
}

// bind reads columns and options.
func (s *sink) bind(t connector.Table, v config.Values) (err error) {
	if s.roll, err = rollingOf(v); err != nil {
		return err
	}
	if s.parallelism, err = v.Int(keyParallelism); err != nil {
		return err
	}
	own, err := ownOptions(t)
	if err != nil {
		return err
	}
	style, err := own.Enum(keyDateStyle)
	if err != nil {
		return err
	}
	cleanup, err := own.Enum(keyCleanup)
	if err != nil {
		return err
	}
	s.cleanup = cleanup == cleanupBeforeWrite
	if s.ttl, err = own.Duration(keyTTL); err != nil {
		return err
	}
	checksum, err := own.Enum(keyChecksum)
	if err != nil {
		return err
	}
	s.sha256 = checksum == checksumSHA256
	s.layout = layout{defaultName: v.String(keyDefaultName), epochDay: style == dateEpochDay, zone: t.Zone}
	if err := s.layout.keysOf(t); err != nil {
		return err
	}
	for i := range t.Columns {
		if !slices.ContainsFunc(s.layout.keys, func(k key) bool { return k.column == i }) {
			s.fileColumns = append(s.fileColumns, i)
		}
	}
	if len(s.fileColumns) == 0 {
		return fmt.Errorf("table %s: all columns are partition keys, nothing would stand in the files", t.Name)
	}
	s.schema = schemaText(t)
	s.commit, err = partitionCommitOf(t, v, s.ext)
	return err
}

// ownOptions checks the table's options in its staunch section. Those of a format, `<format>.<option>`, are the format's.
func ownOptions(t connector.Table) (config.Values, error) {
	raw, at := map[string]string{}, map[string]config.Position{}
	for _, k := range t.Staunch.Keys() {
		owner, _, _ := strings.Cut(k, ".")
		if _, format := t.Formats(owner); !format {
			raw[k], at[k] = t.Staunch.String(k), t.Staunch.At(k)
		}
	}
	own, _, err := config.NewValues(t.Staunch.Owner(), raw, at).Check(StaunchOptions)
	return own, err
}

// openFormat makes the format for the columns that stand in files.
func (s *sink) openFormat(t connector.Table, ff format.Factory, v config.Values) (format.FileFormat, error) {
	p := format.Params{Wanted: s.fileColumns, Staunch: t.Staunch, Zone: t.Zone}
	for _, c := range t.Columns {
		p.All = append(p.All, format.Field{Name: c.Name, Type: c.Type})
	}
	checked, _, err := v.Sub(ff.Name + ".").Check(ff.Options)
	if err != nil {
		return nil, err
	}
	p.Options = checked
	return ff.FileWriter(p)
}

// schemaText writes columns, types and keys for the footers.
func schemaText(t connector.Table) string {
	type column struct {
		Name string `json:"name"`
		Type string `json:"type"`
	}
	var text struct {
		Columns       []column `json:"columns"`
		PartitionKeys []string `json:"partition_keys,omitempty"`
	}
	for _, c := range t.Columns {
		text.Columns = append(text.Columns, column{c.Name, c.Type.String()})
	}
	text.PartitionKeys = t.PartitionKeys
	b, err := json.Marshal(text)
	if err != nil {
		panic("filesystem: strings do not marshal: " + err.Error()) // cannot happen: only strings
	}
	return string(b)
}

// keysOf finds the partition columns in the order of PARTITIONED BY.
func (l *layout) keysOf(t connector.Table) error {
	for _, name := range t.PartitionKeys {
		i := slices.IndexFunc(t.Columns, func(c connector.Column) bool { return c.Name == name })
		if i < 0 {
			return fmt.Errorf("table %s: partition key '%s' is no physical column", t.Name, name)
		}
		c := t.Columns[i]
		if p := c.Type.Physical(); p == types.PhysNested || p == types.PhysNone || c.Type.IsBinary() || c.Type.IsInterval() {
			return fmt.Errorf("table %s: column '%s' of type %s cannot be a partition key; cast it to STRING in a column of its own",
				t.Name, name, c.Type)
		}
		l.keys = append(l.keys, key{name: name, folder: Escape(name) + "=", column: i, typ: c.Type})
	}
	return nil
}

// Store implements connector.FileTable.
func (s *sink) Store() fs.FS { return s.store }

// Root implements connector.FileTable.
func (s *sink) Root() string { return s.root }

// TemporaryTTL implements connector.Perishable.
func (s *sink) TemporaryTTL() time.Duration { return s.ttl }

// Extension implements connector.FileTable.
func (s *sink) Extension() string { return s.ext }

// PartitionCommit implements connector.FileTable.
func (s *sink) PartitionCommit() connector.PartitionCommit {
	if s.commit == nil {
		return nil
	}
	return s.commit
}

// PartitionValues implements connector.PartitionReader.
func (s *sink) PartitionValues(folder string) ([]*string, bool) {
	elements := strings.Split(folder, "/")
	if len(elements) != len(s.layout.keys) {
		return nil, false
	}
	values := make([]*string, len(elements))
	for i, k := range s.layout.keys {
		v, ok := strings.CutPrefix(elements[i], k.folder)
		if !ok {
			return nil, false
		}
		if v = Unescape(v); v != s.layout.defaultName {
			values[i] = &v
		}
	}
	return values, true
}

// Guarantee implements connector.Guarantee.
func (s *sink) Guarantee() (level, reason string) {
	switch s.probe.result() {
	case probeOverwrites:
		return "at-least-once", "the store of " + s.root + " has no rename without overwrite"
	case probePassed:
		return "exactly-once", "files become visible by rename without overwrite, recorded in the table's log"
	}
	return "exactly-once", "files become visible by rename without overwrite, recorded in the table's log (the store was not probed yet)"
}

// isData reports whether name would be read as a data file of the table.
func isData(name, ext string) bool { return strings.HasSuffix(name, "."+ext) }
