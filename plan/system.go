package plan

import (
	"maps"
	"slices"
	"strings"

	"staunch/config"
	"staunch/connector"
	"staunch/sql/ast"
)

// SystemDatabase is the database of the tables that tell of jobs. They are there without a declaration, for top-level queries.
const SystemDatabase = "staunch"

// SystemTable is a read-only table of the system database.
type SystemTable struct {
	Name    string
	Columns []connector.Column
	// Source makes its source for the wanted columns of t. paths are those of the tables that the file has declared before the query, settings the
	// file's.
	Source func(t connector.Table, paths []string, settings *config.Job) (connector.Source, error)
}

// isSystem reports whether a name is that of a table of the system database.
func isSystem(id *ast.Identifier) bool {
	p := id.Texts()
	p = p[:len(p)-1]
	return len(p) == 1 && p[0] == SystemDatabase || len(p) == 2 && p[0] == "default_catalog" && p[1] == SystemDatabase
}

// systemTable makes the table of a name in the system database.
func (p *planner) systemTable(id *ast.Identifier) (*Table, error) {
	at := slices.IndexFunc(p.reg.System, func(s SystemTable) bool { return s.Name == id.Last() })
	if at < 0 {
		var names []string
		for _, s := range p.reg.System {
			names = append(names, SystemDatabase+"."+s.Name)
		}
		return nil, refuse(id, "no table '"+strings.Join(id.Texts(), ".")+"'", near(SystemDatabase+"."+id.Last(), names))
	}
	s := &p.reg.System[at]
	t := &Table{Name: s.Name, Options: map[string]string{}, At: map[string]config.Position{}, WatermarkColumn: -1, Pos: id.Pos(), units: map[string]string{}, system: s, settings: p.conf}
	for _, c := range s.Columns {
		t.Columns = append(t.Columns, Column{Name: c.Name, Type: c.Type, Kind: ast.PhysicalColumn, Pos: id.Pos()})
	}
	for _, name := range slices.Sorted(maps.Keys(p.tables)) {
		if path := p.tables[name].Options["path"]; path != "" {
			t.paths = append(t.paths, path)
		}
	}
	return t, nil
}

// systemFactory stands for the connector of a system table.
func (t *Table) systemFactory() *connector.Factory {
	return &connector.Factory{Name: SystemDatabase, Source: func(ct connector.Table) (connector.Source, error) {
		return t.system.Source(ct, t.paths, t.settings)
	}}
}

// database is the table's.
func (t *Table) database() string {
	if t.system != nil {
		return SystemDatabase
	}
	return "default_database"
}
