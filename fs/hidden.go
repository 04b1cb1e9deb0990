package fs

import "strings"

// Hidden reports whether readers of a table (Spark, Hive, Flink, Presto) leave out what a listing names, with all that is in it: its name begins with _ or
// a dot. A partition's folder, key=value, is never hidden: a column's name may begin with either.
func Hidden(i Info) bool {
	if !strings.HasPrefix(i.Name, "_") && !strings.HasPrefix(i.Name, ".") {
		return false
	}
	return !i.Dir && !i.Symlink || strings.IndexByte(i.Name, '=') < 1
}
