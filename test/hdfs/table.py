#!/usr/bin/env python3
"""table.py PLACE [--format parquet|json]: what a reader may see of a table on HDFS, by WebHDFS and DuckDB. Columns id and part are wanted.
Prints {"rows", "distinct", "files", "hidden", "parts": the partitions that have rows}."""
import argparse, glob, json, os, sys, tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "peer"), os.path.join(HERE, "..", "verifier")]
import duckdb
import webhdfs
from verify import committed  # the rule of what a reader may see

ap = argparse.ArgumentParser()
ap.add_argument("place"); ap.add_argument("--format", default="parquet")
a = ap.parse_args()
with tempfile.TemporaryDirectory() as copy:
    left = webhdfs.WebHDFS(a.place).copy(copy)
    files = committed(copy)
    bad = [f for f in files if os.path.relpath(f, copy) in {os.path.relpath(p, webhdfs.WebHDFS(a.place).root) for p in left}]
    if bad:
        sys.exit("visible files that could not be read: %r" % left)
    hidden = len([f for f in glob.glob(copy + "/**/*", recursive=True, include_hidden=True) if os.path.isfile(f)]) - len(files)
    rows, distinct, parts = 0, 0, []
    if files:
        src = (f"read_parquet({files!r}, hive_partitioning=false)" if a.format == "parquet" else
               f"read_json({files!r}, format='newline_delimited', hive_partitioning=false, columns={{id:'BIGINT', part:'INT'}})")
        con = duckdb.connect()
        rows, distinct = con.execute(f"SELECT count(*), count(DISTINCT id) FROM {src}").fetchall()[0]
        parts = [r[0] for r in con.execute(f"SELECT DISTINCT part FROM {src} ORDER BY 1").fetchall()]
    print(json.dumps({"rows": rows, "distinct": distinct, "files": len(files), "hidden": hidden, "parts": parts}))
