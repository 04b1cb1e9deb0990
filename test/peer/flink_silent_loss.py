#!/usr/bin/env python3
"""flink_silent_loss.py TOPIC RECORDS [--hdfs] [--more]
What real Flink does when a pending file vanishes between a savepoint and its commit (a TTL, a late delete, a hand).
An unbounded Kafka -> Parquet job takes a savepoint (which does not commit), is cancelled, loses one of its pending files,
and is restored from the savepoint. Needs kafka.sh and flink.sh started, the topic of gen_events, and duckdb (install.sh's venv).
With --hdfs the table is on hdfs.sh's name service, which was started before flink.sh; else on the local disk.
With --more as many records are committed before and after, so that the lost ones are in the middle; GEN_EVENTS is the generator's binary.
The table stays; its place is in the last line.
"""
import os, shutil, subprocess, sys, tempfile, time
import duckdb
from run_sql import JM, KAFKA, RUN, Gateway, http
from verify import committed, webhdfs

HDFS, MORE = "--hdfs" in sys.argv, "--more" in sys.argv
TOPIC, N = [a for a in sys.argv[1:] if a[0] != "-"]
N, PARTITIONS = int(N), 4
WORK = RUN + "/silent-loss"
OUT = f"hdfs://testbed/silent-loss-{os.getpid()}" if HDFS else WORK + "/out"


def remove(path):
    if HDFS:
        subprocess.run([os.path.join(os.path.dirname(os.path.abspath(__file__)), "hdfs.sh"), "dfs", "-rm", "-skipTrash", path], check=True, stdout=subprocess.DEVNULL)
    else:
        os.remove(path)


def pending():
    """(size, path) of each hidden file."""
    if HDFS:
        return [(n, p) for p, n in webhdfs.WebHDFS(OUT).files().items() if os.path.basename(p).startswith(".")]
    return [(e.stat().st_size, e.path) for e in os.scandir(OUT) if e.name.startswith(".")]


def visible_rows():
    with tempfile.TemporaryDirectory() as copy:
        if HDFS:
            webhdfs.WebHDFS(OUT).copy(copy)
        files = committed(copy if HDFS else OUT)
        return duckdb.sql(f"select count(*) from read_parquet({files!r})").fetchall()[0][0] if files else 0


def start(savepoint=None):
    g = Gateway()
    for k, v in {"parallelism.default": "2", "execution.checkpointing.interval": "10 min",
                 **({"execution.state-recovery.path": savepoint} if savepoint else {})}.items():
        g.execute(f"SET '{k}'='{v}'")
    g.execute(f"CREATE TABLE e (part INT, seq BIGINT, ts TIMESTAMP(3)) WITH ('connector'='kafka','topic'='{TOPIC}',"
              f"'properties.bootstrap.servers'='{KAFKA}','properties.group.id'='silent-loss','scan.startup.mode'='earliest-offset','format'='json')")
    g.execute(f"CREATE TABLE k (part INT, seq BIGINT, ts TIMESTAMP(3)) WITH ('connector'='filesystem','path'='{OUT}','format'='parquet')")
    return g.execute("INSERT INTO k SELECT * FROM e")[0][0]


def wait(url, done, tries=600):
    for _ in range(tries):
        r = http(url)
        if done(r):
            return r
        time.sleep(0.2)
    sys.exit("no answer in time: " + url)


def trigger(job, path, body):
    t = http(f"{JM}/jobs/{job}/{path}", body)["request-id"]
    return wait(f"{JM}/jobs/{job}/{path}/{t}", lambda r: r["status"]["id"] == "COMPLETED")["operation"]


def cancel(job):
    http(f"{JM}/jobs/{job}?mode=cancel", method="PATCH")
    wait(f"{JM}/jobs/{job}", lambda r: r["state"] == "CANCELED")


def read(job):
    """Waits until the job has read N records since it was started."""
    wait(f"{JM}/jobs/{job}", lambda r: r["state"] == "RUNNING" and max(v["metrics"]["read-records"] for v in r["vertices"]) >= N)


def more(times):
    """Adds N records behind those that were added before."""
    subprocess.run([os.environ["GEN_EVENTS"], "-brokers", KAFKA, "-topic", TOPIC, "-records", str(N), "-partitions", str(PARTITIONS),
                    "-first-seq", str(times * N // PARTITIONS)], check=True, stdout=subprocess.DEVNULL)


def settled(paths):
    """Waits until none of these files is pending any more: a commit comes after its checkpoint is done."""
    for _ in range(300):
        if not paths & {p for _, p in pending()}:
            return
        time.sleep(0.2)
    sys.exit(f"still pending: {sorted(paths)}")


shutil.rmtree(WORK, ignore_errors=True)
os.makedirs(WORK + "/out")
job = start()
read(job)
total = N
if MORE:
    trigger(job, "checkpoints", {})
    settled({p for _, p in pending()})
    more(1)
    wait(f"{JM}/jobs/{job}", lambda r: max(v["metrics"]["read-records"] for v in r["vertices"]) >= 2 * N)
    total = 3 * N
save = trigger(job, "savepoints", {"target-directory": f"file://{WORK}/savepoints", "cancel-job": False})["location"]
cancel(job)
files = pending()
size, victim = max(files)
print(f"pending files: {len(files)} - removing {victim.rsplit('/', 1)[1]} ({size} bytes)")
remove(victim)
job = start(save)
wait(f"{JM}/jobs/{job}", lambda r: r["state"] != "CREATED" and all(v["status"] == "RUNNING" for v in r["vertices"]))
if MORE:
    more(2)
    read(job)
trigger(job, "checkpoints", {})
settled({p for _, p in files} - {victim})
settled({p for _, p in pending()})
state = http(f"{JM}/jobs/{job}")["state"]
errors = http(f"{JM}/jobs/{job}/exceptions")["exceptionHistory"]["entries"]
for e in errors[:3]:
    print("exception:", e["stacktrace"][:600])
if state == "RUNNING":
    cancel(job)
rows = visible_rows()
print(f"job {state}, exceptions {len(errors)}, {rows} of {total} rows visible, {total - rows} lost")
print(f"table {OUT}")
