#!/usr/bin/env python3
"""Measures SQL expressions over the table of columns/ on a real Flink and writes them as vectors.

usage: test/peer/with_peers.sh flink -- sh -c 'test/vectors/flink/measure.py http://127.0.0.1:$FLINK_GATEWAY_PORT in.sql out.tsv [zone]'
in.sql: one expression a line. out.tsv: expression, status, type, value in each of the table's rows, or the error.
Expressions are sent many to one SELECT (one job); a SELECT that fails is split in halves until the bad one is alone."""
import json, os, sys, time, urllib.error, urllib.request

base, src, dst = sys.argv[1:4]
zone = sys.argv[4] if len(sys.argv) > 4 else "UTC"
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), "columns")
AT_ONCE = 40


def call(method, path, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(base + path, method=method, data=data, headers={"Content-Type": "application/json"})
    try:
        return json.load(urllib.request.urlopen(request, timeout=180))
    except urllib.error.HTTPError as e:
        raise RuntimeError("\n".join(json.load(e).get("errors", [str(e)])))


session = call("POST", "/v2/sessions", {"properties": {
    "execution.runtime-mode": "BATCH", "table.local-time-zone": zone, "parallelism.default": "1",
    "restart-strategy.type": "none"}})["sessionHandle"]


def query(sql):
    op = call("POST", f"/v2/sessions/{session}/statements", {"statement": sql})["operationHandle"]
    url, cols, rows = f"/v2/sessions/{session}/operations/{op}/result/0?rowFormat=PLAIN_TEXT", None, []
    while url:
        r = call("GET", url)
        if r["resultType"] == "NOT_READY":
            time.sleep(0.05)
            continue
        cols = cols or r["results"]["columns"]
        rows += r["results"]["data"]
        url = r.get("nextResultUri")
    return cols, rows


def type_text(t):
    kind, suffix = t["type"], "" if t.get("nullable", True) else " NOT NULL"
    params = [t[x] for x in ("length", "precision", "scale") if x in t]
    fixed = {"STRING": "VARCHAR(2147483647)", "BYTES": "VARBINARY(2147483647)", "INTERVAL_DAY_TIME": "INTERVAL SECOND(3)",
             "INTERVAL_YEAR_MONTH": "INTERVAL MONTH"}
    if kind in fixed:
        return fixed[kind] + suffix
    if kind in ("TIMESTAMP_WITH_LOCAL_TIME_ZONE", "TIMESTAMP_LTZ"):
        return "TIMESTAMP(%d) WITH LOCAL TIME ZONE" % t.get("precision", 6) + suffix
    kind = {"INTEGER": "INT", "TIMESTAMP_WITHOUT_TIME_ZONE": "TIMESTAMP", "TIME_WITHOUT_TIME_ZONE": "TIME"}.get(kind, kind)
    return kind + ("(%s)" % ", ".join(map(str, params)) if params else "") + suffix


def escape(v):
    if v is None:
        return "\\N"
    short = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"}
    return "".join(short.get(c, c if ord(c) >= 32 else "\\u%04x" % ord(c)) for c in str(v))


def status(text, cause):
    if "SqlParserException" in text or "sql.parser" in cause:
        return "PARSE_ERROR"
    if "ValidationException" in text:
        return "VALIDATION_ERROR"
    return "PLAN_ERROR" if "CodeGenException" in text else "RUNTIME_ERROR"


def measure(exprs):
    try:
        cols, rows = query("SELECT id, " + ", ".join(f"({x}) AS c{i}" for i, x in enumerate(exprs)) + " FROM t")
        rows = sorted((r["fields"] for r in rows), key=lambda f: int(f[0]))
        return [["OK", type_text(c["logicalType"])] + [escape(r[i + 1]) for r in rows] for i, c in enumerate(cols[1:])]
    except RuntimeError as e:
        if len(exprs) > 1:
            half = len(exprs) // 2
            return measure(exprs[:half]) + measure(exprs[half:])
        lines = [l for l in str(e).split("\n") if "Exception" in l or "Error" in l]
        causes = [l for l in lines if l.startswith("Caused by:")]
        root = (causes or lines or [str(e)])[-1].replace("Caused by: ", "")
        return [[status(str(e), root), "", escape(root[:160])]]


ddl = open(os.path.join(here, "table.sql"), encoding="utf-8").read().strip()
query(ddl.replace("CREATE TABLE", "CREATE TEMPORARY TABLE").replace("file://ROWS", "file://" + os.path.join(here, "rows.json")))
exprs = [l.rstrip("\n") for l in open(src, encoding="utf-8") if l.strip()]
with open(dst, "w", encoding="utf-8") as out:
    out.write("expression\tstatus\ttype\trow1\trow2\trow3\trow4\n")
    for i in range(0, len(exprs), AT_ONCE):
        for x, r in zip(exprs[i:i + AT_ONCE], measure(exprs[i:i + AT_ONCE])):
            out.write("\t".join([x] + r) + "\n")
        out.flush()
        print(min(i + AT_ONCE, len(exprs)), "of", len(exprs), file=sys.stderr)
call("DELETE", f"/v2/sessions/{session}")
