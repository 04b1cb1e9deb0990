package drill

import (
	"path"
	"strings"

	"staunch/account"
	"staunch/log"
)

// Op is what is done on a store.
type Op string

// The operations.
const (
	OpCreate  Op = "create"
	OpWrite   Op = "write"
	OpSync    Op = "sync"
	OpClose   Op = "close"
	OpRename  Op = "rename"
	OpAppend  Op = "append" // the rename that places a log's entry
	OpStat    Op = "stat"
	OpOpen    Op = "open"
	OpList    Op = "list"
	OpMkdir   Op = "mkdir"
	OpDelete  Op = "delete"
	OpRmdir   Op = "delete folder"
	OpSyncDir Op = "sync folder"
)

// changes reports whether the operation changes names in the store: what can come late.
func (o Op) changes() bool {
	switch o {
	case OpCreate, OpRename, OpAppend, OpMkdir, OpDelete, OpRmdir:
		return true
	}
	return false
}

// Place is the kind of what an operation is about.
type Place string

// The places.
const (
	PlaceJobLog     Place = "job's log"
	PlaceTableLog   Place = "table's log"
	PlacePending    Place = "pending file"
	PlaceProbe      Place = "probe file"
	PlaceTemporary  Place = "temporary folder"
	PlaceData       Place = "data file"
	PlaceSuccess    Place = "success file"
	PlaceFolder     Place = "table's folders"
	PlaceCheckpoint Place = "checkpoint folder"
	PlaceTrace      Place = "trace"
	PlaceOther      Place = "parent folders"
)

// Key names a distinct step of a job.
type Key struct {
	// Life is 0 for the first process of a run, 1 for the one that was started after a kill.
	Life  int   `json:"life,omitempty"`
	Op    Op    `json:"op"`
	Place Place `json:"place"`
	// Kind is that of a log's entry, where it is known.
	Kind string `json:"kind,omitempty"`
}

// String describes the step for people.
func (k Key) String() string {
	var s string
	switch {
	case k.Op == OpAppend:
		s = "append " + k.Kind + " to " + string(k.Place)
	case k.Kind != "":
		s = string(k.Op) + " " + k.Kind + " of " + string(k.Place)
	case k.Op != OpMkdir && k.Op != OpSyncDir && k.Op != OpList && (k.Place == PlaceJobLog || k.Place == PlaceTableLog):
		s = string(k.Op) + " entry of " + string(k.Place)
	default:
		s = string(k.Op) + " " + string(k.Place)
	}
	if k.Life > 0 {
		s += ", after a restart"
	}
	return s
}

// Places says what lies where in one run.
type Places struct {
	Tables []Root `json:"tables"`
	// Checkpoints is the URI of the job's checkpoint folder.
	Checkpoints string `json:"checkpoints"`
}

// Root is one table of a run.
type Root struct {
	// URI of its folder.
	URI string `json:"uri"`
	// Ext of its data files, without dot; Success is the name of its success files.
	Ext     string `json:"ext"`
	Success string `json:"success"`
}

// of gives the place of a path.
func (p Places) of(uri string) Place {
	if rest, ok := below(uri, p.Checkpoints); ok {
		f := strings.Split(rest, "/")
		switch {
		case len(f) > 1 && f[1] == "log":
			return PlaceJobLog
		case len(f) > 1 && f[1] == "trace":
			return PlaceTrace
		}
		return PlaceCheckpoint
	}
	for _, t := range p.Tables {
		if rest, ok := below(uri, t.URI); ok {
			return t.of(rest)
		}
	}
	return PlaceOther
}

func (t Root) of(rest string) Place {
	name := path.Base(rest)
	switch first, _, _ := strings.Cut(rest, "/"); {
	case first == "_staunch":
		return PlaceTableLog
	case strings.HasSuffix(name, account.ProbeSuffix):
		return PlaceProbe
	case first == account.Temporary && strings.HasSuffix(name, account.PendingSuffix):
		return PlacePending
	case first == account.Temporary:
		return PlaceTemporary
	case name == t.Success:
		return PlaceSuccess
	case strings.HasSuffix(name, "."+t.Ext):
		return PlaceData
	}
	return PlaceFolder
}

// home is the folder of the run.
func (p Places) home() string { return strings.TrimSuffix(p.Checkpoints, "/checkpoints") }

// takenFrom is where a copy is kept of a file of the run that somebody takes away; ok is false for files outside of the run.
func (p Places) takenFrom(uri string) (to string, ok bool) {
	rest, ok := below(uri, p.home())
	return p.home() + "/taken/" + rest, ok
}

// below gives uri relative to folder, "" for the folder itself.
func below(uri, folder string) (string, bool) {
	if uri == folder {
		return "", true
	}
	return strings.CutPrefix(uri, strings.TrimSuffix(folder, "/")+"/")
}

// key makes the key of an operation, without Life.
func (p Places) key(op Op, uri, kind string) Key {
	k := Key{Op: op, Place: p.of(uri), Kind: kind}
	if op == OpRename && log.Staged(path.Base(uri)) {
		k.Op = OpAppend
	}
	return k
}
