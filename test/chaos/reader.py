#!/usr/bin/env python3
"""reader.py TABLE FORMAT STOPFILE: what a reader of the table sees while the job is killed and goes on.

Reads the table again and again with the naive glob **/*.FORMAT until STOPFILE exists: no torn file, no (part, off) twice, no row that was
there before and is gone. Prints one JSON line of counts; exit 1 if anything was seen."""
import glob, json, os, sys, time

import duckdb

table, fmt, stop = sys.argv[1:4]
con = duckdb.connect()
con.execute("SET threads=1; SET memory_limit='1GB'")
reads = rows = 0
problems = []
known = {}  # file -> rows


def source(files):
    if fmt == "parquet":
        return f"read_parquet({files!r}, hive_partitioning=false)"
    return f"read_json({files!r}, format='newline_delimited', columns={{part:'INT', off:'BIGINT'}}, hive_partitioning=false)"


while True:
    last = os.path.exists(stop)
    files = sorted(glob.glob(f"{table}/**/*.{fmt}", recursive=True))
    gone = [f for f in known if f not in set(files)]
    if gone:
        problems.append(f"vanished: {gone[:3]}")
    if files:
        try:
            n, distinct = con.execute(f"SELECT count(*), count(DISTINCT part::BIGINT * 1000000000000 + off) FROM {source(files)}").fetchone()
            if n != distinct:
                problems.append(f"{n - distinct} rows twice in {len(files)} files")
            if n < rows:
                problems.append(f"{rows} rows were there, now {n}")
            rows = max(rows, n)
        except Exception as e:  # a torn file, or one that vanished between the glob and the read
            problems.append(f"{type(e).__name__}: {str(e)[:300]}")
    for f in files:
        known[f] = True
    reads += 1
    if last or len(problems) > 20:
        break
    time.sleep(0.2)
print(json.dumps({"reads": reads, "rows": rows, "files": len(known), "problems": problems}))
sys.exit(1 if problems else 0)
