package plan

import (
	"fmt"
	"strings"

	"staunch/function"
	"staunch/sql/ast"
	"staunch/sql/bind"
)

// query is a bound SELECT over one table.
type query struct {
	table *Table // nil without FROM
	// where and exprs are over the table's columns, computed ones inlined; asWritten and whereAsWritten are the same before that.
	where          function.Expr
	exprs          []function.Expr
	asWritten      []function.Expr
	whereAsWritten function.Expr
	names          []string
	items          []ast.Node // for error places
	// at is where the table is named.
	at ast.Node
	// units of the intervals in it, see units.
	units map[string]string
}

// bindQuery binds a projection with filter; everything else is refused by name.
func (p *planner) bindQuery(q ast.Query) (*query, error) {
	switch x := q.(type) {
	case *ast.Select:
		return p.bindSelect(x)
	case *ast.TableQuery:
		t, err := p.table(x.Table)
		if err != nil {
			return nil, err
		}
		out := &query{table: t, at: x.Table}
		return out, out.star(x, t)
	case *ast.SetOp:
		return nil, notYet(x, x.Op)
	case *ast.Values:
		return nil, notYet(x, "VALUES")
	case *ast.With:
		return nil, notYet(x, "WITH")
	case *ast.Ordered:
		return nil, notYet(x, "ORDER BY, LIMIT or OFFSET")
	}
	return nil, notYet(q, "this query")
}

func (p *planner) bindSelect(s *ast.Select) (*query, error) {
	for _, bad := range []struct {
		there bool
		at    ast.Node
		what  string
	}{{s.Distinct, s, "SELECT DISTINCT"}, {s.GroupBy != nil, s, "GROUP BY"}, {s.Having != nil, s.Having, "HAVING"},
		{len(s.Windows) > 0, s, "WINDOW"}, {s.Qualify != nil, s.Qualify, "QUALIFY"}, {len(s.Hints) > 0, s, "a query hint"}} {
		if bad.there {
			return nil, notYet(bad.at, bad.what)
		}
	}
	out := &query{units: map[string]string{}}
	units(out.units, s)
	scope := bind.Scope{}
	if s.From != nil {
		ref, ok := s.From.(*ast.Table)
		if !ok {
			return nil, notYet(s.From, fromText(s.From))
		}
		if len(ref.Hints) > 0 || ref.AsOf != nil || ref.Sample != nil {
			return nil, notYet(ref, "a table hint, FOR SYSTEM_TIME or TABLESAMPLE")
		}
		t, err := p.table(ref.Name)
		if err != nil {
			return nil, err
		}
		out.table, out.at = t, ref.Name
		scope.Schema = t.Schema()
		if ref.Alias != nil {
			if len(ref.Alias.Columns) > 0 {
				return nil, notYet(ref.Alias, "an alias with column names")
			}
			scope.Tables = []string{ref.Alias.Name.Text}
		} else {
			scope.Tables = []string{t.Name, t.database() + "." + t.Name, "default_catalog." + t.database() + "." + t.Name}
		}
	}
	for i := range s.Items {
		it := &s.Items[i]
		if star, ok := it.X.(*ast.Star); ok {
			if out.table == nil {
				return nil, refuse(star, "SELECT * needs a FROM", "")
			}
			if star.Qualifier != nil && !contains(scope.Tables, strings.Join(star.Qualifier.Texts(), ".")) {
				return nil, refuse(star.Qualifier, "no table '"+strings.Join(star.Qualifier.Texts(), ".")+"' in FROM", near(star.Qualifier.Last(), scope.Tables))
			}
			if err := out.star(star, out.table); err != nil {
				return nil, err
			}
			continue
		}
		e, err := bind.Expr(it.X, scope)
		if err != nil {
			return nil, err
		}
		name := fmt.Sprintf("EXPR$%d", len(out.exprs))
		if id, ok := it.X.(*ast.Identifier); ok {
			name = id.Last()
		}
		if it.Alias != nil {
			name = it.Alias.Text
		}
		out.add(e, name, it)
	}
	if s.Where != nil {
		w, err := bind.Predicate(s.Where, scope)
		if err != nil {
			return nil, err
		}
		out.where, out.whereAsWritten = out.inline(w), w
	}
	return out, nil
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func fromText(f ast.TableRef) string {
	switch f.(type) {
	case *ast.Join:
		return "a join"
	case *ast.Derived:
		return "a subquery in FROM"
	case *ast.TableFunction:
		return "a table function in FROM"
	case *ast.Unnest:
		return "UNNEST"
	case *ast.MatchRecognize:
		return "MATCH_RECOGNIZE"
	}
	return "this FROM"
}

func (q *query) inline(e function.Expr) function.Expr {
	if q.table == nil {
		return e
	}
	return q.table.inline(e)
}

func (q *query) add(e function.Expr, name string, at ast.Node) {
	q.asWritten = append(q.asWritten, e)
	q.exprs = append(q.exprs, q.inline(e))
	q.names = append(q.names, name)
	q.items = append(q.items, at)
}

func (q *query) star(at ast.Node, t *Table) error {
	for i, c := range t.Columns {
		q.add(&function.ColumnRef{Index: i, Name: c.Name, T: c.Type}, c.Name, at)
	}
	return nil
}
