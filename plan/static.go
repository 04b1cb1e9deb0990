package plan

import (
	"staunch/function"
	"staunch/sql/ast"
	"staunch/sql/bind"
)

// bindStatic binds a value of INSERT ... PARTITION (p = 'v').
func bindStatic(pv ast.PartitionValue) (function.Expr, error) {
	if pv.Value == nil {
		return nil, refuse(pv, "partition '"+pv.Name.Text+"' has no value", "write PARTITION ("+pv.Name.Text+" = '...')")
	}
	return bind.Expr(pv.Value, bind.Scope{})
}
