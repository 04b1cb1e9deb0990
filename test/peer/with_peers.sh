#!/usr/bin/env bash
# Runs a command with real servers of its own, and stops them afterwards, also when the command fails or is interrupted.
#
#   with_peers.sh [kafka] [hdfs] [flink] -- COMMAND...
#
# Each run has its own data folder and its own free ports, so that several may go on at the same time, beside servers of others.
# The command finds in its environment: TESTBED_RUN, KAFKA_PORT, KAFKA_BOOTSTRAP, FLINK_REST_PORT, FLINK_GATEWAY_PORT, FLINK_RPC_PORT
# (for the scripts here, which it may call to kill and restart servers or to start Flink when a test needs it), and TESTBED_PYTHON;
# with hdfs also HDFS_PORT, HDFS_DATANODES, HDFS_NAMENODES, HDFS_WEB, HDFS_AUDIT and HADOOP_CONF_DIR, which makes hdfs://testbed known.
# A server that does not start is a failure: exit 1. Else the exit code is the command's.
#
# Settings: TESTBED_KEEP 1 keeps data and logs of a run (a failed one's logs are kept always), FLINK_TM_MEM 2g,
# HDFS_DATANODES 3.
SERVICE=peers
. "$(dirname "$0")/lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)

peers=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
  case $1 in kafka|hdfs|flink) peers+=("$1");; *) usage;; esac; shift
done
[ "${1:-}" = -- ] && shift && [ $# -gt 0 ] || usage
"$HERE/install.sh" || exit 1

RESERVED=$TESTBED_CACHE/ports; PORTS_EACH=20  # Kafka 2, Flink 3, HDFS 6 and 3 for each of its DataNodes
mkdir -p "$RESERVED"
# a run that was killed hard left its servers: stop them by what it recorded
sweep() {
  local d pid run
  for d in "$RESERVED"/*/; do
    [ -d "$d" ] || continue
    pid=$(cat "$d/pid" 2>/dev/null) || continue
    [ "$(stat_of "$pid" | cut -d' ' -f2)" = "$(cat "$d/start" 2>/dev/null)" ] && continue
    run=$(cat "$d/run" 2>/dev/null)
    say "cleaning up after an earlier run ($run)"
    [ -z "$run" ] || stop_run "$run" KILL
    rm -rf "$d" ${run:+"$run"}
  done
}
# stop_run RUN [SIG]: every daemon that has a pid file below RUN
stop_run() {
  local d n
  for d in "$1"/*/pids; do
    [ -d "$d" ] || continue
    PIDS=$d
    for n in $(names); do kill_one "$n" "${2:-TERM}" & done
    wait
  done
}
# reserve: PORTS_EACH free ports in a row, below those that the kernel hands out by itself and those from 30000 on at which tests have jobs show metrics
reserve() {
  local base i try
  for try in $(seq 200); do
    base=$((20000 + (RANDOM % 500) * PORTS_EACH))
    for i in $(seq 0 $((PORTS_EACH - 1))); do port_open $((base + i)) && continue 2; done
    mkdir "$RESERVED/$base" 2>/dev/null || continue
    SLOT=$RESERVED/$base
    stat_of $$ | cut -d' ' -f2 >"$SLOT/start"; echo "$TESTBED_RUN" >"$SLOT/run"; echo $$ >"$SLOT/pid"
    export KAFKA_PORT=$base KAFKA_CONTROLLER_PORT=$((base + 1)) FLINK_REST_PORT=$((base + 2)) FLINK_GATEWAY_PORT=$((base + 3)) FLINK_RPC_PORT=$((base + 4))
    export HDFS_PORT=$((base + 5))
    return 0
  done
  die "no free ports between 20000 and 30000"
}

sweep
find "$TESTBED_CACHE" -maxdepth 1 -name 'run.*' -mtime +7 -exec rm -rf {} +  # logs of failed runs, kept for a week
TESTBED_RUN=$(mktemp -d -p "$TESTBED_CACHE" run.XXXXXX); export TESTBED_RUN TESTBED_CACHE
chmod 755 "$TESTBED_RUN"
SLOT=; CHILD=; CODE=1
end_child() { # the whole process group, by force after 15 s
  local i
  kill -TERM -- "-$CHILD" 2>/dev/null
  for i in $(seq 150); do kill -0 -- "-$CHILD" 2>/dev/null || return 0; sleep 0.1; done
  kill -KILL -- "-$CHILD" 2>/dev/null
}
finish() {
  trap '' INT TERM HUP
  [ -z "$CHILD" ] || end_child
  stop_run "$TESTBED_RUN"
  if [ "${TESTBED_KEEP:-0}" = 1 ]; then say "data and logs kept: $TESTBED_RUN"
  elif [ "$CODE" != 0 ] && [ "$CODE" -lt 130 ] && compgen -G "$TESTBED_RUN/*/logs" >/dev/null; then
    find "$TESTBED_RUN" -mindepth 2 -maxdepth 2 ! -name logs -exec rm -rf {} +
    say "the servers' logs are kept: $TESTBED_RUN"
  else rm -rf "$TESTBED_RUN"; fi
  [ -z "$SLOT" ] || rm -rf "$SLOT"
  exit "$CODE"
}
trap finish EXIT
trap 'CODE=130; exit' INT
trap 'CODE=143; exit' TERM HUP

reserve
export FLINK_TM_MEM=${FLINK_TM_MEM:-2g} KAFKA_BOOTSTRAP=$HOST:$KAFKA_PORT TESTBED_PYTHON; TESTBED_PYTHON=$("$HERE/install.sh" python)
export HDFS_DATANODES=${HDFS_DATANODES:-3}; unset HADOOP_CONF_DIR
[ "$HDFS_DATANODES" -le 3 ] || die "no ports for more than 3 DataNodes"
for p in "${peers[@]}"; do
  "$HERE/$p.sh" start || { say "$p did not start"; exit; }
  [ "$p" != hdfs ] || { set -a; eval "$("$HERE/hdfs.sh" env)"; set +a; }
done
# a process group of its own, so that an interrupt ends the command and all that it started before the servers stop
set -m; "$@" </dev/null & CHILD=$!; set +m
wait "$CHILD"; CODE=$?; CHILD=
exit
