#!/usr/bin/env python3
"""audit_big.py [ROWS] [DIR]
Real Flink writes a Parquet table of ROWS (100,000,000) rows, as from a topic of 8 partitions; then `staunch audit --columns part,off` reads it:
as it is, with one file removed, and with that file back and a copy of another beside it. Prints time, memory and verdict of each.
Needs flink.sh started and STAUNCH_BIN. Without DIR the table is removed at the end.
"""
import json, os, platform, shutil, subprocess, sys, tempfile, time
from run_sql import JM, RUN, Gateway, http

ROWS = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000_000
DIR = sys.argv[2] if len(sys.argv) > 2 else None
PARTS, BLOCK = 8, 10_000
BIN = os.environ["STAUNCH_BIN"]


def write(table):
    g = Gateway()
    for k, v in {"execution.runtime-mode": "streaming", "parallelism.default": "2", "execution.checkpointing.interval": "10 s"}.items():
        g.execute(f"SET '{k}'='{v}'")
    # a sequence of 100 million would be held in memory: each number of a short one gives BLOCK rows
    g.execute(f"CREATE TABLE s (n BIGINT) WITH ('connector'='datagen','fields.n.kind'='sequence','fields.n.start'='0','fields.n.end'='{ROWS // BLOCK - 1}',"
              "'rows-per-second'='1000000000')")
    g.execute("CREATE TABLE lake (user_id BIGINT, action STRING, amount DOUBLE, ts TIMESTAMP(3), part INT, off BIGINT) WITH "
              f"('connector'='filesystem','path'='file://{table}','format'='parquet')")
    t = time.time()
    hundred = "ARRAY[" + ",".join(map(str, range(100))) + "]"
    # even and odd numbers go to one subtask each, as four partitions of a topic would
    job = g.execute(f"INSERT INTO lake SELECT n * 7919 % 1000003, CASE WHEN a % 3 = 0 THEN 'view' ELSE 'buy' END, n * 0.01e0, TO_TIMESTAMP_LTZ(1767225600000 + n, 3), "
                    f"CAST(n % 2 * 4 + b % 4 AS INT), n / 2 * {BLOCK // 4} + (a * 100 + b) / 4 "
                    f"FROM (SELECT n, {hundred} AS xs, {hundred} AS ys FROM s) CROSS JOIN UNNEST(xs) AS x(a) CROSS JOIN UNNEST(ys) AS y(b)")[0][0]
    while True:
        state = http(f"{JM}/jobs/{job}")["state"]
        if state == "FINISHED":
            break
        if state in ("FAILED", "CANCELED"):
            sys.exit(f"Flink's job is {state}: {http(f'{JM}/jobs/{job}/exceptions')['exceptionHistory']['entries'][:1]}")
        time.sleep(0.5)
    files = [e for e in os.scandir(table) if e.name[0] not in "._"]
    print(f"Flink wrote {ROWS:,} rows in {len(files)} files, {sum(f.stat().st_size for f in files):,} bytes, in {time.time() - t:.0f} s", flush=True)
    return sorted(f.path for f in files)


def audit(table, what):
    """Runs the audit and prints what it took; gives exit code and report."""
    out, err = os.path.join(os.path.dirname(table), "report"), os.path.join(os.path.dirname(table), "stderr")
    t = time.time()
    with open(out, "wb") as o, open(err, "wb") as e:
        p = subprocess.Popen([BIN, "audit", table, "--columns", "part,off", "--output", "json"], stdout=o, stderr=e)
        _, status, usage = os.wait4(p.pid, 0)
    code, wall = os.waitstatus_to_exitcode(status), time.time() - t
    try:
        r = json.load(open(out))["tables"][0]
    except ValueError:
        sys.exit("no report: " + open(err).read())
    print(f"\n{what}: {r['verdict']}, exit code {code}\n  {wall:.1f} s wall, {usage.ru_utime + usage.ru_stime:.1f} s CPU, {usage.ru_maxrss // 1024} MiB at most, "
          f"{r['rows'] / wall / 1e6:.1f} million rows/s")
    for x in r.get("problems") or []:
        where = [os.path.basename(f) for f in x.get("files") or []] + [f"{o['split']} {o['offsets']} ({o['count']:,})" for o in x.get("offsets") or []]
        print(f"  {x['kind']}: {'; '.join(where)[:300]}")
    return code, r


def main():
    work = DIR or tempfile.mkdtemp(prefix="audit-big-", dir=RUN)
    table = os.path.join(work, "lake")
    os.makedirs(work, exist_ok=True)
    try:
        files = write(table)
        print(f"{os.cpu_count()} cores, {platform.system()} {platform.release()}, load {os.getloadavg()[0]:.1f}")
        code, r = audit(table, "as Flink wrote it")
        assert code == 0 and r["rows"] == ROWS and all(s["missing"] == 0 and s["doubled"] == 0 for s in r["splits"]) and len(r["splits"]) == PARTS, r
        aside, counts = os.path.join(work, "aside"), {}
        for f in files:  # part-<uuid>-<subtask>-<number>
            counts.setdefault(f.rsplit("-", 1)[0], []).append(f)
        subtask = sorted(max(counts.values(), key=len), key=lambda f: int(f.rsplit("-", 1)[1]))
        victim = subtask[len(subtask) // 2]
        os.rename(victim, aside)
        code, r = audit(table, "one file removed")
        missing = sum(s["missing"] for s in r["splits"])
        assert code == 1 and missing == ROWS - r["rows"] > 0 and {x["kind"] for x in r["problems"]} == {"gap"}, r
        os.rename(aside, victim)
        shutil.copy(files[0], os.path.join(table, "part-copy-0-0"))
        code, r = audit(table, "one file copied")
        doubled = [x for x in r["problems"] if x["kind"] == "offsets-twice"]
        assert code == 1 and len(doubled) == 1 and len(doubled[0]["files"]) == 2, r
        os.remove(os.path.join(table, "part-copy-0-0"))
    finally:
        if not DIR:
            shutil.rmtree(work, ignore_errors=True)


main()
