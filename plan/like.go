package plan

import (
	"staunch/sql/ast"
)

// like merges the declaration that LIKE names into c: columns are only added, options are overwritten (Flink's default: INCLUDING ALL
// OVERWRITING OPTIONS). Other like options are refused by name.
func (p *planner) like(c *ast.CreateTable) (*ast.CreateTable, error) {
	t, err := p.table(c.Like.Source)
	if err != nil {
		return nil, err
	}
	src := p.declared[t.Name]
	for _, o := range c.Like.Options {
		if o.Strategy == "INCLUDING" && o.Feature == "ALL" || o.Strategy == "OVERWRITING" && o.Feature == "OPTIONS" {
			continue
		}
		return nil, notYet(o, "LIKE (... "+o.Strategy+" "+o.Feature+")")
	}
	out := *c
	out.Like = nil
	out.Elements = append(append([]ast.TableElement{}, src.Elements...), c.Elements...)
	if len(c.PartitionedBy) == 0 {
		out.PartitionedBy = src.PartitionedBy
	}
	own := map[string]bool{}
	for _, o := range c.Options {
		own[o.Key.Text] = true
	}
	out.Options = append([]ast.Option{}, c.Options...)
	for _, o := range src.Options {
		if !own[o.Key.Text] {
			out.Options = append(out.Options, o)
		}
	}
	if out.Comment == nil {
		out.Comment = src.Comment
	}
	return &out, nil
}
