#!/usr/bin/env bash
# A real Apache Flink standalone cluster on 127.0.0.1: JobManager, one TaskManager, SQL gateway; with the Kafka
# connector, Parquet and a Hadoop client on the class path.
#
#   flink.sh start | stop | status | clean
#   flink.sh install           only fetch it; flink.sh installed: is it there?
#   flink.sh start-tm | kill-tm | stop-gateway
#   flink.sh sql FILE          runs a SQL file with the stock client through the running gateway
#   flink.sh env               FLINK_REST, FLINK_GATEWAY
#
# Settings: FLINK_VERSION 2.3.0, KAFKA_CONNECTOR_VERSION 5.0.0-2.2, FLINK_HADOOP_VERSION 3.5.0 (the client),
# FLINK_REST_PORT 18081, FLINK_GATEWAY_PORT 18083, FLINK_RPC_PORT 16123, FLINK_JM_MEM 1600m, FLINK_TM_MEM 4g,
# FLINK_SLOTS 2, FLINK_GATEWAY_HEAP 512m, FLINK_HEARTBEAT_TIMEOUT 10000 (ms).
SERVICE=flink
. "$(dirname "$0")/lib.sh"
V=${FLINK_VERSION:-2.3.0}; P=${FLINK_REST_PORT:-18081}; G=${FLINK_GATEWAY_PORT:-18083}
HV=${FLINK_HADOOP_VERSION:-3.5.0}; SLOTS=${FLINK_SLOTS:-2}
service "$P"; CONF=$ROOT/conf
export FLINK_HOME=$TESTBED_CACHE/flink-$V FLINK_CONF_DIR=$CONF FLINK_LOG_DIR=$LOGS FLINK_PID_DIR=$ROOT/tmp  # its own pid files, not used
# hdfs://testbed opens when hdfs.sh of HDFS_PORT was started before
export HADOOP_CONF_DIR=${HADOOP_CONF_DIR:-$TESTBED_RUN/hdfs-${HDFS_PORT:-18020}/client-conf}
[ -d "$HADOOP_CONF_DIR" ] || unset HADOOP_CONF_DIR

# lib/, opt/, plugins/ are in one wheel, bin/ and conf/ in the other; neither is installed, only unpacked.
# The second is a platform wheel: any Python tag does. The jars come from Maven, each without dependencies.
install() {
  [ -f "$FLINK_HOME/.complete" ] && return 0
  need_java; need mvn maven "$PYTHON" python3
  "$PYTHON" -m pip --version >/dev/null 2>&1 || die "pip is missing: run install.sh, which makes a venv with it"
  say "fetching Flink $V (first use only)"
  rm -rf "$FLINK_HOME"
  mkdir -p "$TESTBED_CACHE"; local tmp pip=("$PYTHON" -m pip download -q --no-deps --disable-pip-version-check); tmp=$(mktemp -d -p "$TESTBED_CACHE")
  "${pip[@]}" -d "$tmp" "apache-flink-libraries==$V" && "${pip[@]}" -d "$tmp" --only-binary :all: --python-version 3.11 \
    --implementation cp --abi cp311 --platform manylinux2014_x86_64 "apache-flink==$V" || die "pip could not fetch Flink $V"
  "$PYTHON" - "$tmp" <<'PY' || die "could not unpack Flink's wheels"
import glob, os, sys, zipfile
for w in glob.glob(sys.argv[1] + "/*.whl"):
    z = zipfile.ZipFile(w)
    for i in z.infolist():
        if i.filename.split("/")[:2][-1] in ("bin", "conf", "lib", "opt", "plugins"):
            p = z.extract(i, sys.argv[1])
            if i.filename.endswith(".sh") or i.filename == "pyflink/bin/flink":
                os.chmod(p, 0o755)
PY
  maven_libs "$tmp/jars" "org.apache.flink:flink-sql-connector-kafka:${KAFKA_CONNECTOR_VERSION:-5.0.0-2.2}" \
    "org.apache.flink:flink-sql-parquet:$V" "org.apache.flink:flink-sql-gateway:$V" "org.apache.hadoop:hadoop-client-api:$HV" \
    "org.apache.hadoop:hadoop-client-runtime:$HV" commons-logging:commons-logging:1.3.5 '-*:*'
  mv "$tmp"/jars/flink-sql-gateway-*.jar "$tmp/pyflink/opt/"; mv "$tmp"/jars/*.jar "$tmp/pyflink/lib/"
  touch "$tmp/pyflink/.complete"; mv "$tmp/pyflink" "$FLINK_HOME"; rm -rf "$tmp"
}

configure() {
  mkdir -p "$CONF" "$LOGS" "$ROOT/checkpoints" "$ROOT/savepoints" "$ROOT/tmp"
  cp "$FLINK_HOME"/conf/log4j*.properties "$CONF/"
  local opens; opens=$(grep -m1 '^ *all:' "$FLINK_HOME/conf/config.yaml" | sed 's/^ *all: *//')
  cat >"$CONF/config.yaml" <<L
env.java.opts.all: $opens
env.java.opts.sql-gateway: -Xmx${FLINK_GATEWAY_HEAP:-512m}
jobmanager.rpc.address: $HOST
jobmanager.rpc.port: ${FLINK_RPC_PORT:-16123}
jobmanager.bind-host: $HOST
jobmanager.memory.process.size: ${FLINK_JM_MEM:-1600m}
taskmanager.host: $HOST
taskmanager.bind-host: $HOST
taskmanager.memory.process.size: ${FLINK_TM_MEM:-4g}
taskmanager.numberOfTaskSlots: $SLOTS
parallelism.default: $SLOTS
rest.address: $HOST
rest.bind-address: $HOST
rest.port: $P
sql-gateway.endpoint.rest.address: $HOST
sql-gateway.endpoint.rest.bind-address: $HOST
# bind-port too: the gateway otherwise inherits the JobManager's rest.bind-port when one is set
sql-gateway.endpoint.rest.port: $G
sql-gateway.endpoint.rest.bind-port: $G
io.tmp.dirs: $ROOT/tmp
execution.checkpointing.dir: file://$ROOT/checkpoints
execution.checkpointing.savepoint-dir: file://$ROOT/savepoints
# tests read metrics to know how far a job is
metrics.fetcher.update-interval: 1000
# notice a killed TaskManager quickly and restart at once
heartbeat.interval: 1000
heartbeat.timeout: ${FLINK_HEARTBEAT_TIMEOUT:-10000}
restart-strategy.type: fixed-delay
restart-strategy.fixed-delay.attempts: 100
restart-strategy.fixed-delay.delay: 1 s
L
}

registered() { curl -fsS "http://$HOST:$P/taskmanagers" | grep -q '"id"'; }
gateway_up() { curl -fsS "http://$HOST:$G/info" | grep -q version; }
rest_up()    { curl -fsS "http://$HOST:$P/overview"; }
# the foreground scripts exec down to java, so the recorded pid is the JVM's
start_tm() { daemon flink-tm "$FLINK_HOME/bin/taskmanager.sh" start-foreground; }
start() {
  need_java; install || return 1
  local t0; t0=$(now_ms)
  alive flink-jm || free_ports "$P" "${FLINK_RPC_PORT:-16123}"
  alive flink-gateway || free_ports "$G"
  configure
  daemon flink-jm "$FLINK_HOME/bin/jobmanager.sh" start-foreground
  start_tm
  daemon flink-gateway "$FLINK_HOME/bin/sql-gateway.sh" start-foreground
  wait_for 90 flink-jm rest_up && wait_for 90 flink-tm registered || return 1
  say "cluster ready in $(( $(now_ms) - t0 )) ms: http://$HOST:$P"
  wait_for 90 flink-gateway gateway_up || return 1
  say "gateway ready in $(( $(now_ms) - t0 )) ms: http://$HOST:$G"
}
case ${1:-} in
  install) install;;
  installed) [ -e "$FLINK_HOME/.complete" ];;
  start|restart) start;;
  stop) stop_all;;
  clean) clean_all;;
  status) show_status;;
  start-tm) configure; start_tm;;
  kill-tm) kill_one flink-tm KILL;;
  stop-gateway) kill_one flink-gateway;;
  # embedded mode would try to bind the gateway's configured port a second time
  sql) exec "$FLINK_HOME/bin/sql-client.sh" gateway --endpoint "$HOST:$G" -f "$2";;
  env) echo "FLINK_REST=http://$HOST:$P"; echo "FLINK_GATEWAY=http://$HOST:$G";;
  *) usage;;
esac
