package plan

import (
	"slices"

	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/format"
	"staunch/fs"
	"staunch/function"
	"staunch/operator"
)

// Registry has the plug-ins.
type Registry struct {
	Connectors []connector.Factory
	Formats    []format.Factory
	Stores     fs.Resolver
	// NewCalc makes filter and projection; exprs give the output columns.
	NewCalc func(where function.Expr, exprs []function.Expr, names []string, notNull []int, drop bool, s function.Session) (operator.Operator, error)
	// NewWatermarker makes the watermark operator of a source.
	NewWatermarker func(e function.Expr, s function.Session) (operator.Watermarker, error)
	// System are the tables of the system database.
	System []SystemTable
	// Collect makes the sink of a top-level SELECT.
	Collect func(s changelog.Schema) connector.Sink
}

func (r *Registry) connector(name string) (*connector.Factory, string) {
	var names []string
	for i := range r.Connectors {
		if r.Connectors[i].Name == name {
			return &r.Connectors[i], ""
		}
		names = append(names, r.Connectors[i].Name)
	}
	slices.Sort(names)
	near, _ := config.Nearest(name, names)
	return nil, near
}

func (r *Registry) format(name string) (format.Factory, bool) {
	for _, f := range r.Formats {
		if f.Name == name {
			return f, true
		}
	}
	return format.Factory{}, false
}
