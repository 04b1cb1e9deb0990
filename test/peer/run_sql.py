#!/usr/bin/env python3
"""run_sql.py JOB.sql [--topic T] [--records N] [--bytes N] [--run-id ID] [--label L] [--json FILE]

Renders sql/common.sql + JOB.sql, submits it through the SQL gateway, waits for
the bounded job to finish and prints one JSON line: rate, CPU seconds and peak
RSS of each server process, start latency, checkpoint times.

Needs kafka.sh and flink.sh started; only the Python standard library is used.
"""
import argparse, glob, json, os, re, sys, time, urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
CACHE = os.environ.get("TESTBED_CACHE", os.path.expanduser("~/.cache/testbed"))
GW = "http://127.0.0.1:" + os.environ.get("FLINK_GATEWAY_PORT", "18083")
JM = "http://127.0.0.1:" + os.environ.get("FLINK_REST_PORT", "18081")
KAFKA = "127.0.0.1:" + os.environ.get("KAFKA_PORT", "19092")
RUN = os.environ.get("TESTBED_RUN", CACHE + "/run")
OUT = os.environ.get("OUT_DIR", RUN + "/out")
HZ = os.sysconf("SC_CLK_TCK")
PROCS = ["flink-jm", "flink-tm", "flink-gateway", "kafka"]  # see lib.sh: one folder a service and port


def http(url, body=None, method=None):
    req = urllib.request.Request(url, method=method, headers={"Content-Type": "application/json"},
                                 data=None if body is None else json.dumps(body).encode())
    try:
        with urllib.request.urlopen(req, timeout=30) as r:
            return json.load(r)
    except urllib.error.HTTPError as e:
        raise RuntimeError(f"{url}: {e.code} {e.read().decode()[:3000]}") from None


def pid(name):
    service = "kafka-" + KAFKA.split(":")[1] if name == "kafka" else "flink-" + JM.rsplit(":", 1)[1]
    with open(f"{RUN}/{service}/pids/{name}.pid") as f:
        return int(f.read())


def cpu(p):
    """User + system seconds of a process, all threads."""
    with open(f"/proc/{p}/stat") as f:
        t = f.read().rsplit(")", 1)[1].split()
    return (int(t[11]) + int(t[12])) / HZ


def machine():
    """(busy, total) seconds of the whole machine."""
    with open("/proc/stat") as f:
        v = [int(x) for x in f.readline().split()[1:9]]
    return (sum(v) - v[3] - v[4]) / HZ, sum(v) / HZ


def hwm(p):
    with open(f"/proc/{p}/status") as f:
        return int(re.search(r"VmHWM:\s+(\d+)", f.read()).group(1)) // 1024


def render(path, env):
    text = open(f"{HERE}/sql/common.sql").read() + "\n" + open(path).read()
    text = re.sub(r"\$\{(\w+)\}", lambda m: env[m.group(1)], text)
    text = re.sub(r"(?m)^--.*\n", "", text)
    return [s.strip() for s in text.split(";\n") if s.strip()]


class Gateway:
    def __init__(self):
        self.session = http(f"{GW}/v2/sessions", {})["sessionHandle"]

    def execute(self, sql):
        """Runs one statement and returns its rows."""
        h = http(f"{GW}/v2/sessions/{self.session}/statements", {"statement": sql.rstrip(";")})["operationHandle"]
        url, rows = f"/v2/sessions/{self.session}/operations/{h}/result/0?rowFormat=JSON", []
        while url:
            r = http(GW + url)
            if r["resultType"] == "NOT_READY":
                time.sleep(0.02)
                continue
            rows += [x["fields"] for x in r["results"]["data"]]
            if r["resultType"] == "EOS":
                break
            url = r.get("nextResultUri")
        return rows

    def close(self):
        http(f"{GW}/v2/sessions/{self.session}", method="DELETE")


def submit(path, topic, run_id, extra=""):
    env = {"KAFKA_BOOTSTRAP": KAFKA, "TOPIC": topic, "OUT_DIR": OUT, "RUN_ID": run_id}
    stmts = render(path, env)
    g, job, t_submit = Gateway(), None, None
    if extra:
        stmts = [s for s in extra.split(";") if s.strip()] + stmts
    for s in stmts:
        t = time.time()
        rows = g.execute(s)
        if s.upper().startswith(("INSERT", "EXECUTE")):
            job, t_submit = rows[0][0], t
    g.close()
    return job, t_submit


def committed(run_dir):
    """Files a reader may see: no hidden or underscore names in any path part."""
    return [f for f in glob.glob(run_dir + "/**/*", recursive=True)
            if os.path.isfile(f) and not os.path.basename(f).startswith(("_", "."))]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("sql")
    ap.add_argument("--topic", default="events")
    ap.add_argument("--records", type=int, default=10_000_000)
    ap.add_argument("--bytes", type=int, default=2_315_292_628)
    ap.add_argument("--run-id", default=time.strftime("%H%M%S"))
    ap.add_argument("--json", help="append the result line to this file")
    ap.add_argument("--label", default="")
    a = ap.parse_args()
    kind = os.path.basename(a.sql)[0]
    run_dir = f"{OUT}/{kind}-{a.run_id}"
    while http(f"{JM}/overview")["jobs-running"]:  # measure alone
        time.sleep(0.5)
    pids = {n: pid(n) for n in PROCS}
    for p in pids.values():
        with open(f"/proc/{p}/clear_refs", "w") as f:
            f.write("5")  # reset the peak-RSS mark
    c0, m0, w0 = {n: cpu(p) for n, p in pids.items()}, machine(), time.time()
    job, t_submit = submit(a.sql, a.topic, a.run_id)
    t_accepted, t_first, first = time.time(), None, None
    while True:
        j = http(f"{JM}/jobs/{job}")
        if not t_first and (c := committed(run_dir)):
            t_first = time.time()
            first = [[f[len(run_dir):], os.path.getsize(f), round(os.path.getmtime(f) - t_submit, 2)] for f in c[:2]]
        if j["state"] in ("FINISHED", "FAILED", "CANCELED"):
            break
        time.sleep(0.4)  # polling costs the JobManager CPU
    c1, m1, w1 = {n: cpu(p) for n, p in pids.items()}, machine(), time.time()
    if j["state"] != "FINISHED":
        print(json.dumps(http(f"{JM}/jobs/{job}/exceptions"))[:4000], file=sys.stderr)
        sys.exit(1)
    ck = http(f"{JM}/jobs/{job}/checkpoints")
    e2e = ck["summary"]["end_to_end_duration"]
    cs = {n: round(c1[n] - c0[n], 2) for n in PROCS}
    flink_cpu = cs["flink-jm"] + cs["flink-tm"]
    secs = j["duration"] / 1000
    files = committed(run_dir)
    res = {
        "job": kind, "label": a.label, "run_id": a.run_id, "job_id": job, "records": a.records,
        "job_s": round(secs, 2), "wall_s": round(w1 - w0, 2),
        "records_per_s": round(a.records / secs), "mb_per_s": round(a.bytes / secs / 1e6, 1),
        "cpu_s": cs, "flink_cpu_s": round(flink_cpu, 2),
        "records_per_cpu_s": round(a.records / flink_cpu),
        "records_per_tm_cpu_s": round(a.records / cs["flink-tm"]),
        "peak_rss_mib": {n: hwm(p) for n, p in pids.items()},
        "submit_to_accepted_s": round(t_accepted - t_submit, 2),
        # from the job's own time stamps: the REST answers are cached for three seconds
        "submit_to_tasks_started_s": round(max(v["start-time"] for v in j["vertices"]) / 1000 - t_submit, 2),
        "submit_to_first_file_s": round(t_first - t_submit, 2) if t_first else None,
        "first_files": first,  # name, size, age of the first ones seen
        "first_checkpoint": [[h["id"], h["status"], round(h["trigger_timestamp"] / 1000 - t_submit, 2), h["end_to_end_duration"]]
                             for h in ck["history"] if h["id"] <= 2],
        "checkpoints": ck["counts"]["completed"], "checkpoints_failed": ck["counts"]["failed"],
        "checkpoint_ms": {k: e2e[k] for k in ("min", "avg", "max")},
        "checkpoint_bytes": ck["summary"]["checkpointed_size"]["avg"],
        "files": len(files), "file_bytes": sum(os.path.getsize(f) for f in files),
        # share of the machine used by others during the run: how noisy it was
        "others_cpu_share": round(((m1[0] - m0[0]) - sum(cs.values())) / (m1[1] - m0[1]), 3),
    }
    print(json.dumps(res))
    if a.json:
        with open(a.json, "a") as f:
            f.write(json.dumps(res) + "\n")


if __name__ == "__main__":
    main()
