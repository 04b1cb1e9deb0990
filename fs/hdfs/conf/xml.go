package conf

import (
	"bytes"
	"encoding/xml"
	"errors"
	"io"
	iofs "io/fs"
	"os"
	"path/filepath"
	"strings"

	"staunch/fault"
)

// Conf is a configuration. The zero value is an empty one.
type Conf struct {
	// Dir is the folder that it was read from, or "".
	Dir   string
	props map[string]property
	// env reads the environment; nil: no variable is set.
	env func(string) string
}

type property struct {
	value string
	final bool
	file  string
}

// files are read in this order; a later one overrides what an earlier one has not declared final.
var files = []string{"core-site.xml", "hdfs-site.xml"}

// former names of keys, as Hadoop maps them.
var former = map[string]string{
	"fs.default.name":             "fs.defaultFS",
	"dfs.block.size":              "dfs.blocksize",
	"io.bytes.per.checksum":       "dfs.bytes-per-checksum",
	"dfs.umask":                   "fs.permissions.umask-mode",
	"dfs.umaskmode":               "fs.permissions.umask-mode",
	"dfs.federation.nameservices": "dfs.nameservices",
}

// Environment reads the configuration that HADOOP_CONF_DIR names. Without that variable it is empty, which is enough for `hdfs://host:port/`.
func Environment() (*Conf, error) {
	dir := os.Getenv("HADOOP_CONF_DIR")
	if dir == "" {
		return &Conf{env: os.Getenv}, nil
	}
	return Load(dir, os.Getenv)
}

// Load reads the configuration of a folder. getenv reads environment variables.
func Load(dir string, getenv func(string) string) (*Conf, error) {
	c := &Conf{Dir: dir, props: map[string]property{}, env: getenv}
	found := false
	for _, name := range files {
		path := filepath.Join(dir, name)
		b, err := os.ReadFile(path)
		if errors.Is(err, iofs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fault.Userf("Hadoop configuration: %w", err)
		}
		found = true
		if err := c.read(path, b); err != nil {
			return nil, err
		}
	}
	if !found {
		return nil, fault.Userf("HADOOP_CONF_DIR=%s holds neither core-site.xml nor hdfs-site.xml", dir).
			WithHint("set HADOOP_CONF_DIR to the folder of the cluster's client configuration")
	}
	return c, nil
}

// read adds the properties of one file.
func (c *Conf) read(file string, b []byte) error {
	d := xml.NewDecoder(bytes.NewReader(b))
	root := false
	for {
		tok, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			return fault.Userf("%s: %w", file, err)
		}
		start, ok := tok.(xml.StartElement)
		if !ok {
			continue
		}
		switch {
		case start.Name.Local == "include" && (strings.HasSuffix(start.Name.Space, "XInclude") || start.Name.Space == "xi"):
			return fault.Userf("%s, line %d: XInclude is not supported", file, line(d)).
				WithHint("put the included properties into this file, or into a folder of their own that HADOOP_CONF_DIR names")
		case start.Name.Local == "configuration": // may be nested
			root = true
		case start.Name.Local == "property" && root:
			if err := c.property(file, d, start); err != nil {
				return err
			}
		case !root:
			return fault.Userf("%s, line %d: the outermost element is <%s>, want <configuration>", file, line(d), start.Name.Local)
		}
	}
	if !root {
		return fault.Userf("%s: no <configuration> in it", file)
	}
	return nil
}

func line(d *xml.Decoder) int {
	n, _ := d.InputPos()
	return n
}

// property adds one <property>.
func (c *Conf) property(file string, d *xml.Decoder, start xml.StartElement) error {
	at := line(d)
	var p struct {
		Name    *string   `xml:"name"`
		Value   *string   `xml:"value"`
		Final   string    `xml:"final"`
		NameA   *string   `xml:"name,attr"`
		ValueA  *string   `xml:"value,attr"`
		FinalA  string    `xml:"final,attr"`
		Include *struct{} `xml:"include"`
	}
	if err := d.DecodeElement(&p, &start); err != nil {
		return fault.Userf("%s: %w", file, err)
	}
	if p.Include != nil {
		return fault.Userf("%s, line %d: XInclude is not supported", file, at).WithHint("write the property itself")
	}
	if p.Name == nil {
		p.Name = p.NameA
	}
	if p.Value == nil {
		p.Value = p.ValueA
	}
	if p.Name == nil || strings.TrimSpace(*p.Name) == "" {
		return fault.Userf("%s, line %d: a <property> without <name>", file, at)
	}
	if p.Value == nil {
		return nil // Hadoop takes it for not set
	}
	name := strings.TrimSpace(*p.Name)
	if now := former[name]; now != "" {
		name = now
	}
	if old, ok := c.props[name]; ok && old.final {
		return nil
	}
	c.props[name] = property{value: *p.Value, final: strings.TrimSpace(p.Final+p.FinalA) == "true", file: file}
	return nil
}

// maxDepth bounds substitutions of one value, as Hadoop does.
const maxDepth = 20

// Get gives the value of a key with its variables replaced and blanks around it removed, or "" if it is not set. A variable that nobody sets
// stays as it is written.
func (c *Conf) Get(key string) (string, error) {
	p, ok := c.props[key]
	if !ok {
		return "", nil
	}
	v := p.value
	for from, n := 0, 0; ; n++ {
		start := strings.Index(v[from:], "${")
		if start < 0 {
			return strings.TrimSpace(v), nil
		}
		start += from
		length := strings.IndexByte(v[start:], '}')
		if length < 0 {
			return strings.TrimSpace(v), nil
		}
		if n == maxDepth {
			return "", fault.Userf("%s: %s: more than %d variables in one value, or a circle: %s", p.file, key, maxDepth, p.value)
		}
		to, ok := c.variable(v[start+2 : start+length])
		if !ok {
			from = start + length
			continue
		}
		v, from = v[:start]+to+v[start+length+1:], start
	}
}

// variable gives the value of what stands between ${ and }.
func (c *Conf) variable(name string) (string, bool) {
	if env, ok := strings.CutPrefix(name, "env."); ok {
		get := c.env
		if get == nil {
			get = func(string) string { return "" }
		}
		// The default stands behind the first '-' or ':-'. Names of variables hold neither.
		i := strings.IndexAny(env, ":-")
		if i < 0 {
			v := get(env)
			return v, v != ""
		}
		if v := get(env[:i]); v != "" {
			return v, true
		}
		return strings.TrimPrefix(strings.TrimPrefix(env[i:], ":"), "-"), true
	}
	if p, ok := c.props[name]; ok {
		return p.value, true
	}
	switch name { // the system properties of Java that files in use refer to
	case "user.name":
		return User(c.env), true
	case "user.home":
		home, err := os.UserHomeDir()
		return home, err == nil
	case "java.io.tmpdir":
		return os.TempDir(), true
	}
	return "", false
}
