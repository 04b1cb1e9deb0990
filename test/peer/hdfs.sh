#!/usr/bin/env bash
# A real HDFS HA pair on 127.0.0.1: two NameNodes, a JournalNode, DataNodes, each a process of its own. Name service: testbed.
#
#   hdfs.sh start | stop | status | clean
#   hdfs.sh install             only fetch it; hdfs.sh installed: is it there?
#   hdfs.sh active              name of the active NameNode (nn1 | nn2)
#   hdfs.sh failover            graceful: the active one to standby, the other to active
#   hdfs.sh kill-active         SIGKILL the active one, then make the other one active; prints the name of the killed one
#   hdfs.sh activate NAME       make NAME active by force, whatever the other one says
#   hdfs.sh demote NAME         make NAME standby; one that was fenced meanwhile ends itself, and is started again
#   hdfs.sh heal                after a test: daemons that are stopped or dead run again, one NameNode is active, safe mode is off
#   hdfs.sh kill NAME [SIG]     NAME: nn1 nn2 jn1 dn1 ..; SIGKILL by default (STOP, CONT too)
#   hdfs.sh restart NAME        start a killed one again; NameNodes and DataNodes are waited for
#   hdfs.sh dfs ARGS...         the Java client's shell, e.g. dfs -ls / (HDFS_CLIENT_CONF: with another configuration)
#   hdfs.sh admin ARGS...       the Java administration tool at the active NameNode, e.g. admin -safemode enter
#   hdfs.sh env                 HADOOP_CONF_DIR, HDFS_NAMENODES, HDFS_WEB (both as host:port,host:port), HDFS_AUDIT
#
# Settings: HADOOP_VERSION 3.5.0, HDFS_PORT 18020 (ports HDFS_PORT .. +5 and three for each DataNode), HDFS_DATANODES 1,
# HDFS_REPLICATION (2, or 1 with one DataNode), HDFS_EXTRA "key=value ..." more hdfs-site properties,
# HDFS_PUBLIC_NN1, HDFS_PUBLIC_NN2 host:port that stand in the client's configuration instead of the NameNodes' own (proxies).
# The account that starts it is the superuser; every other one (HADOOP_USER_NAME) meets permissions, and may write where it was allowed to.
SERVICE=hdfs
. "$(dirname "$0")/lib.sh"
V=${HADOOP_VERSION:-3.5.0}; P=${HDFS_PORT:-18020}; DNS=${HDFS_DATANODES:-1}
REPLICATION=${HDFS_REPLICATION:-$((DNS > 1 ? 2 : 1))}
NS=testbed
service "$P"
CONF=$ROOT/conf; CLIENT=$ROOT/client-conf
LIB=$TESTBED_CACHE/hadoop-$V/lib; WEB=$TESTBED_CACHE/hadoop-$V/web
nn_rpc() { echo $((P + ${1#nn} - 1)); }
nn_http() { echo $((P + ${1#nn} + 1)); }
JN_RPC=$((P + 4)); JN_HTTP=$((P + 5))
dn_port() { echo $((P + 3 + 3 * ${1#dn})); }  # data; HTTP and IPC are the next two
JVM=(java -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData -Xss512k)

write_conf() { # DIR NN1 NN2
  local dir=$1 i kv; mkdir -p "$dir"
  { echo '<configuration>'
    prop fs.defaultFS "hdfs://$NS"
    prop hadoop.tmp.dir "$ROOT/tmp"
    prop ipc.client.connect.max.retries 1
    echo '</configuration>'; } >"$dir/core-site.xml"
  { echo '<configuration>'
    prop dfs.nameservices $NS
    prop dfs.ha.namenodes.$NS nn1,nn2
    prop dfs.namenode.rpc-address.$NS.nn1 "$2"
    prop dfs.namenode.rpc-address.$NS.nn2 "$3"
    for i in nn1 nn2; do
      prop dfs.namenode.http-address.$NS.$i "$HOST:$(nn_http $i)"
      prop dfs.namenode.name.dir.$NS.$i "file://$ROOT/$i"
    done
    prop dfs.client.failover.proxy.provider.$NS org.apache.hadoop.hdfs.server.namenode.ha.ConfiguredFailoverProxyProvider
    prop dfs.namenode.shared.edits.dir "qjournal://$HOST:$JN_RPC/$NS"
    prop dfs.ha.fencing.methods 'shell(/bin/true)'
    prop dfs.ha.automatic-failover.enabled false
    prop dfs.ha.tail-edits.period 1s
    prop dfs.ha.tail-edits.in-progress true
    prop dfs.ha.log-roll.period 10s
    prop dfs.replication "$REPLICATION"
    prop dfs.namenode.replication.min 1
    prop dfs.client.block.write.replace-datanode-on-failure.policy NEVER
    prop dfs.permissions.enabled true
    prop dfs.namenode.datanode.registration.ip-hostname-check false
    prop dfs.heartbeat.interval 1s
    prop dfs.namenode.safemode.extension 0
    prop dfs.namenode.fs-limits.min-block-size 1024
    prop dfs.namenode.acls.enabled true
    prop dfs.datanode.max.transfer.threads 512
    prop dfs.datanode.hostname $HOST  # WebHDFS sends its readers there
    for kv in ${HDFS_EXTRA:-}; do prop "${kv%%=*}" "${kv#*=}"; done
    echo '</configuration>'; } >"$dir/hdfs-site.xml"
  cat >"$dir/log4j.properties" <<'L'
log4j.rootLogger=INFO,out
log4j.logger.org.apache.hadoop.util.NativeCodeLoader=ERROR
log4j.logger.org.apache.hadoop.crypto.OpensslCipher=ERROR
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.target=System.err
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
# one line a call: hdfs-audit-NAME.log
log4j.logger.org.apache.hadoop.hdfs.server.namenode.FSNamesystem.audit=INFO,audit
log4j.additivity.org.apache.hadoop.hdfs.server.namenode.FSNamesystem.audit=false
log4j.appender.audit=org.apache.log4j.FileAppender
log4j.appender.audit.File=${testbed.audit}
log4j.appender.audit.layout=org.apache.log4j.PatternLayout
log4j.appender.audit.layout.ConversionPattern=%d{ISO8601} %p %c{2}: %m%n
L
}

java_cmd() { # NAME HEAP -> the words in CMD
  CMD=("${JVM[@]}" "-Xmx$2" -Dtestbed.audit="$LOGS/hdfs-audit-$1.log" -Dhadoop.home.dir="$ROOT" -cp "$CONF:$WEB:$LIB/*")
}
launch() { # NAME
  local n=$1 class b; local -a opt
  mkdir -p "$LOGS"
  java_cmd "$n" "${HDFS_HEAP:-256m}"
  case $n in
    nn[12]) class=namenode.NameNode; opt=(-Ddfs.ha.namenode.id="$n");;
    jn1) class=org.apache.hadoop.hdfs.qjournal.server.JournalNode
      opt=(-Ddfs.journalnode.edits.dir="$ROOT/jn1" -Ddfs.journalnode.rpc-address="$HOST:$JN_RPC" -Ddfs.journalnode.http-address="$HOST:$JN_HTTP");;
    dn[1-9]) class=datanode.DataNode; b=$(dn_port "$n")
      opt=(-Ddfs.datanode.data.dir="file://$ROOT/$n" -Ddfs.datanode.address="$HOST:$b" -Ddfs.datanode.http.address="$HOST:$((b + 1))"
        -Ddfs.datanode.ipc.address="$HOST:$((b + 2))");;
    *) die "no daemon has the name $n";;
  esac
  case $class in org.*) ;; *) class=org.apache.hadoop.hdfs.server.$class;; esac
  # what is read from the configuration by id goes in as a generic option
  daemon "$n" "${CMD[@]}" "$class" "${opt[@]}"
}
tool() { java_cmd tool 128m; "${CMD[@]}" "$@"; }
haadmin() { tool org.apache.hadoop.hdfs.tools.DFSHAAdmin "$@" </dev/null >>"$LOGS/haadmin.log" 2>&1; }
jmx() { curl -sf -m 3 "http://$HOST:$(nn_http "$1")/jmx?qry=Hadoop:service=NameNode,name=$2"; }
state() { jmx "$1" NameNodeStatus | sed -n 's/.*"State" *: *"\([a-z]*\)".*/\1/p'; }
is_active() { [ "$(state "$1")" = active ]; }
is_standby() { [ "$(state "$1")" = standby ]; }
is_up() { [ -n "$(state "$1")" ]; }
active() { local n; for n in nn1 nn2; do is_active $n && { echo $n; return 0; }; done; return 1; }
other() { [ "$1" = nn1 ] && echo nn2 || echo nn1; }
# registered NAME N: at least N DataNodes are there and the NameNode has left safe mode
registered() {
  local o; o=$(jmx "$1" FSNamesystemState) || return 1
  echo "$o" | grep -q '"FSState" : "Operational"' && [ "$(echo "$o" | sed -n 's/.*"NumLiveDataNodes" : \([0-9]*\),.*/\1/p')" -ge "$2" ]
}
activate() { # NAME [--forceactive]
  haadmin -transitionToActive ${2:-} "$1" || return 1
  wait_for 120 "$1 active" is_active "$1"
}

install() {
  need_java
  maven_libs "$LIB" "org.apache.hadoop:hadoop-hdfs:$V" "org.apache.hadoop:hadoop-common:$V" "org.apache.hadoop:hadoop-hdfs-client:$V"
  # the daemons insist on finding their web folders on the class path; the Maven jar has none
  mkdir -p "$WEB"/webapps/{hdfs,journal,datanode,static}
}
format() {
  [ ! -e "$ROOT/formatted" ] || return 0
  say formatting
  tool org.apache.hadoop.hdfs.server.namenode.NameNode -Ddfs.ha.namenode.id=nn1 -format -force -nonInteractive \
    -clusterid testbed >"$LOGS/format.log" 2>&1 || { tail -20 "$LOGS/format.log" >&2; return 1; }
  # a copy of the fresh image is what -bootstrapStandby would fetch
  rm -rf "$ROOT/nn2" && cp -r "$ROOT/nn1" "$ROOT/nn2" && touch "$ROOT/formatted"
}
start() {
  local t0 n i; t0=$(now_ms)
  install || return 1
  for n in nn1 nn2; do alive $n || free_ports "$(nn_rpc $n)" "$(nn_http $n)"; done
  alive jn1 || free_ports "$JN_RPC" "$JN_HTTP"
  mkdir -p "$PIDS" "$LOGS"
  write_conf "$CONF" "$HOST:$(nn_rpc nn1)" "$HOST:$(nn_rpc nn2)"
  write_conf "$CLIENT" "${HDFS_PUBLIC_NN1:-$HOST:$(nn_rpc nn1)}" "${HDFS_PUBLIC_NN2:-$HOST:$(nn_rpc nn2)}"
  launch jn1
  wait_for 180 jn1 port_open "$JN_RPC" && format || return 1
  launch nn1; launch nn2
  for i in $(seq "$DNS"); do launch "dn$i"; done
  for n in nn1 nn2; do wait_for 180 $n is_up $n || return 1; done
  active >/dev/null || activate nn1 || return 1
  wait_for 180 "all DataNodes" registered "$(active)" "$DNS" || return 1
  say "ready in $(( $(now_ms) - t0 )) ms; active $(active); HADOOP_CONF_DIR=$CLIENT"
}
failover() {
  local a b; a=$(active) || die "no active NameNode"; b=$(other "$a")
  haadmin -transitionToStandby "$a" && haadmin -transitionToActive "$b" || die "see $LOGS/haadmin.log"
  wait_for 60 "$b active" is_active "$b"
}
kill_active() {
  local a; a=$(active) || die "no active NameNode"
  kill_one "$a" KILL
  activate "$(other "$a")" --forceactive || die "see $LOGS/haadmin.log"
  echo "$a"
}
restart() {
  local n=$1
  case $n in
    nn*) alive "$n" || wait_for 30 "freed ports" ports_released "$(nn_rpc "$n")" "$(nn_http "$n")" || return 1
      launch "$n"; wait_for 180 "$n" is_up "$n";;
    dn*) alive "$n" || wait_for 30 "freed ports" ports_released "$(dn_port "$n")" $(($(dn_port "$n") + 2)) || return 1
      launch "$n"; wait_for 180 "$n" port_open $(($(dn_port "$n") + 2));;
    *) alive "$n" || wait_for 30 "freed ports" ports_released "$JN_RPC" "$JN_HTTP" || return 1
      launch "$n"; wait_for 180 "$n" port_open "$JN_RPC";;
  esac
}
# one whose journal is another's ends itself when it is told so
demote() {
  haadmin -transitionToStandby "$1" && wait_for 20 "$1 standby" is_standby "$1" && return 0
  kill_one "$1" KILL; restart "$1"
}
heal() {
  local n
  for n in nn1 nn2 jn1 $(seq -f dn%.0f "$DNS"); do kill_one "$n" CONT; done
  # one that was stopped while the other one took over does not know it yet, and which of the two is right is not seen from here
  if is_active nn1 && is_active nn2; then for n in nn1 nn2; do kill_one $n KILL; done; fi
  for n in jn1 nn1 nn2 $(seq -f dn%.0f "$DNS"); do alive "$n" || restart "$n" || return 1; done
  active >/dev/null || activate nn1 --forceactive || return 1
  n=$(active); jmx "$n" FSNamesystemState | grep -q '"FSState" : "Operational"' || admin -safemode leave >&2
  wait_for 180 "all DataNodes" registered "$n" "$DNS"
}
admin() {
  local a; a=$(active) || die "no active NameNode"
  tool org.apache.hadoop.hdfs.tools.DFSAdmin -fs "hdfs://$HOST:$(nn_rpc "$a")" "$@" 2>>"$LOGS/admin.log" || die "admin $* failed, see $LOGS/admin.log"
}

case ${1:-} in
  install) install;;
  installed) [ -e "$LIB/.complete" ];;
  start) start;;
  stop) stop_all;;
  clean) clean_all;;
  status) show_status; r=$?; for n in nn1 nn2; do s=$(state $n); echo "$n ${s:-down}"; done; exit $r;;
  active) active;;
  failover) failover;;
  kill-active) kill_active;;
  heal) heal;;
  activate) activate "${2:?which NameNode?}" --forceactive;;
  demote) demote "${2:?which NameNode?}";;
  kill) kill_one "${2:?which daemon?}" "${3:-KILL}";;
  restart) restart "${2:?which daemon?}";;
  dfs) shift; java_cmd tool 512m
    exec "${CMD[@]}" -cp "${HDFS_CLIENT_CONF:-$CLIENT}:$LIB/*" org.apache.hadoop.fs.FsShell "$@";;
  admin) shift; admin "$@";;
  env) echo "HADOOP_CONF_DIR=$CLIENT"; echo "HDFS_NAMENODES=$HOST:$(nn_rpc nn1),$HOST:$(nn_rpc nn2)"
    echo "HDFS_WEB=$HOST:$(nn_http nn1),$HOST:$(nn_http nn2)"; echo "HDFS_AUDIT=$LOGS/hdfs-audit-nn1.log,$LOGS/hdfs-audit-nn2.log";;
  *) usage;;
esac
