# What the test bed's scripts share; source it, do not run it. Needs bash and curl.
#
# TESTBED_CACHE  downloaded jars and built tools (kept)   default ~/.cache/testbed
# TESTBED_RUN    data, logs, pid files (may be deleted)   default $TESTBED_CACHE/run
# A script sets SERVICE, sources this and calls `service PORT`: then ROOT, PIDS and LOGS are its own folders.
# Every daemon is started with setsid, has one pid file, and is signalled only by that pid, after a look at the
# process's start time: a pid that the kernel gave to another process since is never hit.
set -u
TESTBED_CACHE=${TESTBED_CACHE:-$HOME/.cache/testbed}
TESTBED_RUN=${TESTBED_RUN:-$TESTBED_CACHE/run}
HOST=127.0.0.1
PATH=$PATH:/usr/sbin:/sbin
PYTHON=$TESTBED_CACHE/venv/bin/python  # of install.sh; with duckdb and pyarrow
[ -x "$PYTHON" ] || PYTHON=python3

service() { ROOT=$TESTBED_RUN/$SERVICE-$1; PIDS=$ROOT/pids; LOGS=$ROOT/logs; }
say() { echo "[${SERVICE:-testbed}] $*" >&2; }
die() { say "error: $*"; exit 1; }
now_ms() { date +%s%3N; }
usage() { awk 'NR > 1 && !/^#/ { exit } NR > 1 { sub(/^# ?/, ""); print }' "$0"; exit 2; }  # the script's own head

# need COMMAND [DEBIAN-PACKAGE]...  (pairs)
need() {
  while [ $# -gt 0 ]; do
    command -v "$1" >/dev/null || die "'$1' is missing; on Debian: apt-get install $2"
    shift 2
  done
}
need_java() { need java openjdk-17-jdk-headless curl curl; }

# maven_libs DIR g:a:v...  -> DIR/*.jar holds the artifacts and their runtime dependencies.
# An entry "-g:a" excludes g:a from all of them ("-*:*": no dependencies at all).
maven_libs() {
  local dir=$1; shift
  [ -e "$dir/.complete" ] && return 0
  need mvn maven
  local tmp d ex="" g a v; tmp=$(mktemp -d)
  {
    echo '<project><modelVersion>4.0.0</modelVersion><groupId>testbed</groupId>'
    echo '<artifactId>libs</artifactId><version>1</version><packaging>pom</packaging><dependencies>'
    for d in "$@"; do case $d in -*) IFS=: read -r g a <<<"${d#-}"
      ex="$ex<exclusion><groupId>$g</groupId><artifactId>$a</artifactId></exclusion>";; esac; done
    for d in "$@"; do case $d in -*) ;; *) IFS=: read -r g a v <<<"$d"
      echo "<dependency><groupId>$g</groupId><artifactId>$a</artifactId><version>$v</version>"
      echo "<exclusions>$ex</exclusions></dependency>";; esac; done
    echo '</dependencies></project>'
  } >"$tmp/pom.xml"
  say "fetching $* (first use only)"
  mkdir -p "$(dirname "$dir")"
  local new; new=$(mktemp -d -p "$(dirname "$dir")")
  mvn -q -B -Dmaven.repo.local="${MAVEN_REPO:-$HOME/.m2/repository}" -f "$tmp/pom.xml" dependency:copy-dependencies -DincludeScope=runtime \
    -DoutputDirectory="$new" >"$tmp/mvn.log" 2>&1 || { tail -20 "$tmp/mvn.log" >&2; rm -rf "$tmp" "$new"; die "maven failed, see above"; }
  # whole or not at all: a run that was ended half-way leaves no folder that looks complete
  touch "$new/.complete"; rm -rf "$dir" "$tmp"; mv "$new" "$dir"
}

# stat_of PID  prints "state start-time" (the command's name may hold blanks, so it is cut off first)
stat_of() { sed 's/^.*) //' "/proc/$1/stat" 2>/dev/null | awk '{ print $1, $20 }'; }

# daemon NAME CMD...  start CMD detached (it must not fork); log $LOGS/NAME.log, pid $PIDS/NAME.pid
daemon() {
  local name=$1; shift
  alive "$name" && return 0
  mkdir -p "$PIDS" "$LOGS"
  setsid "$@" >>"$LOGS/$name.log" 2>&1 </dev/null &
  local s; s=$(stat_of $!)
  echo $! >"$PIDS/$name.pid"; echo "${s#* }" >"$PIDS/$name.start"
}

# pid_of NAME  prints the pid when that very process (pid and kernel start time) still lives
pid_of() {
  local p s; p=$(cat "$PIDS/$1.pid" 2>/dev/null) || return 1
  s=$(stat_of "$p"); [ -n "$s" ] && [ "${s% *}" != Z ] || return 1
  [ "${s#* }" = "$(cat "$PIDS/$1.start" 2>/dev/null)" ] && echo "$p"
}
alive() { pid_of "$1" >/dev/null; }

# kill_one NAME [SIGNAL]  end one daemon and wait until it is gone (SIGKILL after 15 s); STOP and CONT only signal
kill_one() {
  local p i; p=$(pid_of "$1") || { rm -f "$PIDS/$1.pid" "$PIDS/$1.start"; return 0; }
  kill "-${2:-TERM}" "$p" 2>/dev/null
  case ${2:-} in STOP|CONT) return 0;; esac
  for i in $(seq 150); do alive "$1" || break; sleep 0.1; done
  alive "$1" && kill -KILL "$p" 2>/dev/null
  for i in $(seq 50); do alive "$1" || break; sleep 0.1; done
  rm -f "$PIDS/$1.pid" "$PIDS/$1.start"
}
names() { ls "$PIDS" 2>/dev/null | sed -n 's/\.pid$//p'; }
stop_all() { local n; for n in $(names); do kill_one "$n" "${1:-TERM}" & done; wait; say stopped; }
clean_all() { stop_all KILL; rm -rf "$ROOT" "$@"; say "data removed"; }

# wait_for SECONDS WHAT CMD...  poll until CMD succeeds; gives up at once if WHAT names a daemon that died
wait_for() {
  local t=$1 what=$2 end; shift 2
  end=$(( $(now_ms) + t * 1000 ))
  until "$@" >/dev/null 2>&1; do
    [ ! -e "$PIDS/$what.pid" ] || alive "$what" || { say "$what died:"; tail -5 "$LOGS/$what.log" >&2; return 1; }
    [ "$(now_ms)" -lt "$end" ] || { say "not ready after ${t}s: $what (logs in $LOGS)"; return 1; }
    sleep 0.1
  done
}
port_open() { (exec 3<>"/dev/tcp/$HOST/$1") 2>/dev/null; }
# ports_released PORT...  after a kill: the kernel may close the sockets a little later than the process's main thread ends
ports_released() { local p; for p in "$@"; do ! port_open "$p" || return 1; done; }
# free_ports PORT...  refuse to start over somebody else's server
free_ports() { local p; for p in "$@"; do port_open "$p" && die "port $p is taken; choose others (see: $0 help)"; done; true; }

show_status() {
  local n p any=1
  for n in $(names); do
    if p=$(pid_of "$n"); then any=0
      printf '%-10s pid %-8s rss %s MiB\n' "$n" "$p" "$(( $(awk '/VmRSS/{print $2}' "/proc/$p/status") / 1024 ))"
    else printf '%-10s dead\n' "$n"; fi
  done
  [ $any = 0 ] || echo "$SERVICE down"
  return $any
}

# prop NAME VALUE  one property of a Hadoop configuration file
prop() { echo "  <property><name>$1</name><value>$2</value></property>"; }

# other_account  for servers that refuse to run as root: sets DATA (their folder) and AS (the words that change the
# account to TESTBED_ACCOUNT, default nobody). Not root: DATA is in ROOT and AS is empty.
other_account() {
  local who=${TESTBED_ACCOUNT:-nobody}; DATA=$ROOT/data; AS=()
  [ "$(id -u)" = 0 ] || return 0
  AS=(setpriv --reuid "$who" --regid "$(id -g "$who")" --clear-groups)
  mkdir -p "$ROOT"
  "${AS[@]}" test -x "$ROOT" || DATA=${TMPDIR:-/tmp}/testbed-$SERVICE-${ROOT##*-}  # e.g. under a private home
  mkdir -p "$DATA"; chown "$who" "$DATA"
}
