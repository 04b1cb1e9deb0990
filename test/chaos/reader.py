#!/usr/bin/env python3
"""reader.py TABLE FORMAT STOPFILE: what a reader of the table sees while the job is killed and goes on.

Lists the table again and again as the glob **/*.FORMAT does until STOPFILE exists, and reads each file whole when it first shows, some again
at random, and all at the end: no torn file, none that changes or vanishes, no (part, off) twice. TABLE is a folder or a place on HDFS
(../verifier/webhdfs.py). Prints one JSON line of counts; exit 1 if anything was seen."""
import glob, hashlib, json, os, random, sys, tempfile, time

import duckdb

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "verifier"))
import webhdfs

table, fmt, stop = sys.argv[1:4]


class Folder:
    """A table on disk."""
    tries = 0

    def files(self):
        return sorted(glob.glob(f"{table}/**/*.{fmt}", recursive=True))

    def read(self, path):
        with open(path, "rb") as h:
            return h.read()


class Remote(webhdfs.WebHDFS):
    """A table on HDFS, read by HTTP."""

    def files(self):
        def visible(path):
            # as a glob: what begins with a dot is not met. An entry that was listed and is gone is a folder's matter, a file's never
            return path.endswith("." + fmt) and "/." not in path
        return sorted(p for p in super().files() if visible(p))


store = Remote(table, patience=3600) if webhdfs.is_place(table) else Folder()
con = duckdb.connect()
con.execute("SET threads=1; SET memory_limit='2GB'")
con.execute("CREATE TABLE seen (part INT, off BIGINT, PRIMARY KEY (part, off))")
scratch = tempfile.NamedTemporaryFile(suffix="." + fmt)
known = {}  # file -> hash of its bytes
problems, counts = [], {"reads": 0, "rows": 0, "doubled": 0, "torn": 0, "gone": 0, "opened": 0}


def found(kind, text):
    counts[kind] += 1
    problems.append(text)


def source():
    if fmt == "parquet":
        return f"read_parquet({scratch.name!r}, hive_partitioning=false)"
    return f"read_json({scratch.name!r}, format='newline_delimited', columns={{part:'INT', off:'BIGINT'}}, hive_partitioning=false)"


def look(path):
    """Reads a file whole. The first time its rows are counted, later its bytes must be the same."""
    try:
        data = store.read(path)
    except FileNotFoundError:
        return found("gone", f"listed and gone: {path}")
    counts["opened"] += 1
    digest = hashlib.sha256(data).digest()
    if path in known:
        if known[path] != digest:
            found("torn", f"changed: {path}")
        return
    known[path] = digest
    scratch.seek(0), scratch.truncate(), scratch.write(data), scratch.flush()
    try:
        con.execute(f"CREATE OR REPLACE TEMP TABLE rows AS SELECT part, off FROM {source()}")
        n, distinct, missing = con.execute("SELECT count(*), count(DISTINCT (part, off)), count(*) FILTER (part IS NULL OR off IS NULL) FROM rows").fetchone()
        if not n or missing:
            return found("torn", f"{n} rows, {missing} of them without a place, in {path}")
        before = con.execute("SELECT count(*) FROM seen").fetchone()[0]
        con.execute("INSERT INTO seen SELECT * FROM rows ON CONFLICT DO NOTHING")
        counts["rows"] = con.execute("SELECT count(*) FROM seen").fetchone()[0]
        if counts["rows"] != before + n:
            counts["doubled"] += before + n - counts["rows"] - 1
            found("doubled", f"{before + n - counts['rows']} rows of {path} were there before")
    except duckdb.Error as e:
        found("torn", f"{path}: {str(e)[:300]}")


while len(problems) < 20:
    last = os.path.exists(stop)
    files = store.files()
    for path in sorted(known.keys() - set(files)):
        found("gone", f"vanished: {path}")
        del known[path]
    new = [p for p in files if p not in known]
    again = list(known) if last else random.sample(list(known), min(3, len(known)))
    for path in new + again:
        look(path)
    counts["reads"] += 1
    with open(stop + ".reads", "w") as h:  # for who waits until a file was seen
        print(counts["reads"], file=h)
    if last:
        break
    time.sleep(0.2)
print(json.dumps(dict(counts, files=len(known), again=store.tries, problems=problems)))
sys.exit(1 if problems else 0)
