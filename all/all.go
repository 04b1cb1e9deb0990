package all

import (
	"sync"

	"staunch/changelog"
	"staunch/connector"
	"staunch/connector/blackhole"
	"staunch/connector/datagen"
	"staunch/connector/filesystem"
	"staunch/connector/kafka"
	"staunch/connector/print"
	"staunch/format"
	"staunch/format/json"
	"staunch/format/parquet"
	"staunch/fs"
	"staunch/fs/hdfs"
	"staunch/fs/local"
	"staunch/function"
	"staunch/operator"
	"staunch/operator/calc"
	"staunch/plan"
)

// Connectors in order of name.
var Connectors = []connector.Factory{
	blackhole.Factory,
	datagen.Factory,
	filesystem.Factory,
	kafka.Factory,
	print.Factory,
}

// Formats in order of name.
var Formats = []format.Factory{
	json.Factory,
	parquet.Factory,
}

// Stores resolves paths by their scheme. There is one in a process, so that all that is done on one store goes through one client of it.
var Stores = sync.OnceValue(func() fs.Resolver {
	disk := local.Resolver{FS: local.New()}
	return fs.Resolvers{"": disk, "file": disk, "hdfs": &hdfs.Resolver{}}
})

// Registry hands the plug-ins to the planner. collect makes the sink of a top-level SELECT.
func Registry(collect func(changelog.Schema) connector.Sink) *plan.Registry {
	return &plan.Registry{
		Connectors: Connectors, Formats: Formats, Stores: Stores(), Collect: collect,
		NewCalc: func(where function.Expr, exprs []function.Expr, names []string, notNull []int, drop bool, s function.Session) (operator.Operator, error) {
			return calc.New(calc.Spec{Where: where, Exprs: exprs, Names: names, NotNull: notNull, Drop: drop, Session: s})
		},
		NewWatermarker: calc.NewWatermarker,
	}
}
