package drill

import (
	"strings"
	"testing"

	"staunch/config"
	"staunch/connector"
)

// TestAdaptKnows: a connector that the drill does not know how to lead elsewhere is never used, whatever it is; those that do nothing outside of the
// process are left as they are.
func TestAdaptKnows(t *testing.T) {
	used := ""
	factory := func(name string) connector.Factory {
		return connector.Factory{Name: name,
			Source: func(connector.Table) (connector.Source, error) { used = name; return nil, nil },
			Sink:   func(connector.Table) (connector.Sink, error) { used = name; return nil, nil }}
	}
	list := Adapt([]connector.Factory{factory("kafka"), factory("jdbc"), factory("http"), factory("print"), factory("blackhole")}, Job{})
	for _, f := range list {
		used = ""
		_, err := f.Sink(connector.Table{Name: "t"})
		known := f.Name == "print" || f.Name == "blackhole"
		if known != (err == nil) || known != (used != "") {
			t.Errorf("a sink of %s: used %t, %v", f.Name, used != "", err)
		}
		if err != nil && (!strings.Contains(err.Error(), f.Name) || !strings.Contains(err.Error(), "table t")) {
			t.Errorf("%v does not say what is refused", err)
		}
	}
	for _, name := range []string{"jdbc", "print"} {
		used = ""
		for what, list := range map[string][]connector.Factory{"Bounded": Bounded([]connector.Factory{factory(name)}, 10), "Adapt": Adapt([]connector.Factory{factory(name)}, Job{})} {
			if _, err := list[0].Source(connector.Table{Name: "t", Options: config.Values{}}); err == nil || used != "" {
				t.Errorf("%s, a source of %s: used %t, %v", what, name, used != "", err)
			}
		}
	}
}
