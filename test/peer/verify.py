#!/usr/bin/env python3
"""verify.py DIR --per-partition N [--format parquet|json] [--partitions 4] [--key seq|off]
DIR is a folder, or a place on HDFS as ../verifier/webhdfs.py says. Checks that the committed (not hidden) files under DIR hold each (part, KEY) exactly once. Needs duckdb (install.sh's venv).
Exit 0 when exact, 1 when not; prints counts of rows, duplicates, losses."""
import argparse, glob, os, sys, tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "verifier"))
import webhdfs


def committed(d):
    """Files a reader may see: no path component hidden or with an underscore (a folder key=value is seen), no pending or superseded file."""
    def visible(f):
        *folders, name = os.path.relpath(f, d).split(os.sep)
        return name[0] not in "_." and not any(c[0] in "_." and c.find("=") < 1 for c in folders) and not f.endswith((".pending", ".superseded", ".staunch"))
    return [f for f in glob.glob(d + "/**/*", recursive=True, include_hidden=True) if os.path.isfile(f) and visible(f)]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("dir"); ap.add_argument("--format", default="parquet", choices=["parquet", "json"])
    ap.add_argument("--partitions", type=int, default=4); ap.add_argument("--per-partition", type=int, required=True)
    ap.add_argument("--key", default="seq")
    a = ap.parse_args()
    if not webhdfs.is_place(a.dir):
        sys.exit(judge(a))
    with tempfile.TemporaryDirectory() as copy:
        left = webhdfs.WebHDFS(a.dir).copy(copy)
        if left:
            print("not copied:", left, file=sys.stderr)
        a.dir = copy
        sys.exit(judge(a))


def judge(a):
    """Prints the counts and gives the exit code."""
    import duckdb
    files = committed(a.dir)
    hidden = [f for f in glob.glob(a.dir + "/**/*", recursive=True, include_hidden=True) if os.path.isfile(f) and f not in set(files)]
    if not files:
        print(f"no committed files in {a.dir} (others: {len(hidden)})", file=sys.stderr)
        return 1
    # hive_partitioning would let a folder's name stand in for a column of the file
    src = (f"read_parquet({files!r}, hive_partitioning=false)" if a.format == "parquet" else
           f"read_json({files!r}, format='newline_delimited', hive_partitioning=false, columns={{part:'INT', {a.key}:'BIGINT'}})")
    con = duckdb.connect()
    con.execute("SET threads=2; SET memory_limit='3GB'")
    rows, uniq, bad = con.execute(f"""SELECT count(*), count(DISTINCT part::BIGINT * 1000000000000 + {a.key}),
      count(DISTINCT part::BIGINT * 1000000000000 + {a.key}) FILTER ({a.key} < 0 OR {a.key} >= {a.per_partition} OR part < 0 OR part >= {a.partitions})
      FROM {src}""").fetchall()[0]
    nulls = con.execute(f"SELECT count(*) FROM {src} WHERE part IS NULL OR {a.key} IS NULL").fetchall()[0][0]
    want = a.partitions * a.per_partition
    print(f"files={len(files)} others={len(hidden)} rows={rows} distinct={uniq} duplicates={rows - uniq - nulls} nulls={nulls} missing={want - (uniq - bad)} unexpected={bad}")
    return 0 if rows == uniq == want and not bad else 1


if __name__ == "__main__":
    main()
