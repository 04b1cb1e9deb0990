#!/usr/bin/env bash
# A real Apache Kafka broker on 127.0.0.1: one KRaft node (broker and controller in one JVM), PLAINTEXT, transactions.
#
#   kafka.sh start | stop | status | clean
#   kafka.sh install           only fetch it; kafka.sh installed: is it there?
#   kafka.sh kill [SIG]        SIGKILL by default (STOP, CONT too)
#   kafka.sh restart           start again after a kill
#   kafka.sh env               KAFKA_BOOTSTRAP=host:port
#
# Settings: KAFKA_VERSION 4.4.0, KAFKA_PORT 19092, KAFKA_CONTROLLER_PORT (KAFKA_PORT+1), KAFKA_HEAP 1g,
# KAFKA_EXTRA "key=value ..." more broker properties. Topics are not created by themselves.
SERVICE=kafka
. "$(dirname "$0")/lib.sh"
V=${KAFKA_VERSION:-4.4.0}; P=${KAFKA_PORT:-19092}; C=${KAFKA_CONTROLLER_PORT:-$((P + 1))}
service "$P"
LIB=$TESTBED_CACHE/kafka-$V/lib; CONF=$ROOT/server.properties

write_conf() {
  mkdir -p "$ROOT"
  cat >"$ROOT/log4j2.properties" <<'L'
rootLogger.level = warn
rootLogger.appenderRef.c.ref = C
appender.c.type = Console
appender.c.name = C
appender.c.layout.type = PatternLayout
appender.c.layout.pattern = %d %p %c{1} %m%n
L
  cat >"$CONF" <<L
process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://$HOST:$P,CONTROLLER://$HOST:$C
advertised.listeners=PLAINTEXT://$HOST:$P,CONTROLLER://$HOST:$C
controller.listener.names=CONTROLLER
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT
controller.quorum.bootstrap.servers=$HOST:$C
inter.broker.listener.name=PLAINTEXT
log.dirs=$ROOT/data
num.partitions=4
auto.create.topics.enable=false
# single node: every internal topic with one replica
offsets.topic.replication.factor=1
offsets.topic.num.partitions=4
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=4
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
# Flink's exactly-once sink asks for transactions of up to an hour
transaction.max.timeout.ms=3600000
log.retention.hours=-1
log.segment.bytes=536870912
# a topic with a retention of its own is looked at at once
log.initial.task.delay.ms=500
log.retention.check.interval.ms=500
L
  printf '%s\n' ${KAFKA_EXTRA:-} >>"$CONF"
}
JVM=(java -Xms256m -Xmx"${KAFKA_HEAP:-1g}" -XX:+UseG1GC -XX:+ExitOnOutOfMemoryError
  -Dlog4j2.configurationFile="$ROOT/log4j2.properties" -cp "$LIB/*")

install() {
  need_java
  maven_libs "$LIB" "org.apache.kafka:kafka_2.13:$V" org.apache.logging.log4j:log4j-slf4j-impl:2.25.3
}
start() {
  install
  local t0; t0=$(now_ms)
  alive kafka || free_ports "$P" "$C"
  write_conf; mkdir -p "$LOGS"
  [ -f "$ROOT/data/meta.properties" ] ||
    "${JVM[@]}" kafka.tools.StorageTool format --standalone -t AAAAAAAAQACAAAAAAAAAAQ -c "$CONF" >"$LOGS/format.log" 2>&1 ||
    { tail "$LOGS/format.log" >&2; die "could not format"; }
  daemon kafka "${JVM[@]}" kafka.Kafka "$CONF"
  wait_for 180 kafka port_open "$P" || return 1
  say "ready in $(( $(now_ms) - t0 )) ms: $HOST:$P"
}
case ${1:-} in
  install) install;;
  installed) [ -e "$LIB/.complete" ];;
  start) start;;
  restart) alive kafka || wait_for 60 "freed ports" ports_released "$P" "$C"; start;;
  stop) stop_all;;
  kill) kill_one kafka "${2:-KILL}";;
  clean) clean_all;;
  status) show_status;;
  env) echo "KAFKA_BOOTSTRAP=$HOST:$P";;
  *) usage;;
esac
