#!/usr/bin/env python3
"""compare.py DIR_A DIR_B FORMAT: folders, or places on HDFS as ../verifier/webhdfs.py says. Are the committed rows of two tables equal, as bags, partition values included? Prints counts; exit 1 if not."""
import os, sys, tempfile

import duckdb

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "peer"))
from verify import committed, webhdfs  # the rule of what a reader may see

a, b, fmt = sys.argv[1:4]
copies = tempfile.TemporaryDirectory()
for d in (a, b):
    if webhdfs.is_place(d):
        left = webhdfs.WebHDFS(d).copy(os.path.join(copies.name, os.path.basename(d)))
        if left:
            sys.exit(f"not copied: {left}")
a, b = (os.path.join(copies.name, os.path.basename(d)) if webhdfs.is_place(d) else d for d in (a, b))
COLS = "user_id, item_id, action, amount, ts, part, off, dt, hour"
TYPES = {"user_id": "BIGINT", "item_id": "BIGINT", "action": "VARCHAR", "amount": "DECIMAL(10,2)", "ts": "TIMESTAMP", "part": "INTEGER",
         "off": "BIGINT"}
con = duckdb.connect()
con.execute("SET threads=2; SET memory_limit='4GB'")


def table(name, d):
    files = [f for f in committed(d) if os.path.basename(f) != "_SUCCESS"]
    hive = "hive_partitioning=true, hive_types={'dt': VARCHAR, 'hour': VARCHAR}"
    if fmt == "parquet":
        src = f"read_parquet({files!r}, {hive})"
    else:
        src = f"read_json({files!r}, format='newline_delimited', columns={TYPES!r}, {hive})"
    con.execute(f"CREATE TABLE {name} AS SELECT {COLS} FROM {src}")
    return len(files), con.execute(f"SELECT count(*) FROM {name}").fetchone()[0]


fa, na = table("a", a)
fb, nb = table("b", b)
only_a = con.execute("SELECT count(*) FROM (SELECT * FROM a EXCEPT ALL SELECT * FROM b)").fetchone()[0]
only_b = con.execute("SELECT count(*) FROM (SELECT * FROM b EXCEPT ALL SELECT * FROM a)").fetchone()[0]
print(f"{na} rows in {fa} files, {nb} rows in {fb} files; only in the first {only_a}, only in the second {only_b}")
if only_a or only_b:
    print("examples:", con.execute("(SELECT 'first', * FROM (SELECT * FROM a EXCEPT ALL SELECT * FROM b) LIMIT 3) UNION ALL "
                                   "(SELECT 'second', * FROM (SELECT * FROM b EXCEPT ALL SELECT * FROM a) LIMIT 3)").fetchall())
sys.exit(1 if only_a or only_b or na == 0 else 0)
