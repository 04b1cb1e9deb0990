#!/usr/bin/env bash
# Installs what the tests against real servers need, once: Debian packages (as root), the pinned artifacts of Kafka, HDFS and Flink,
# and a Python venv with the outside readers. Everything but the packages goes to TESTBED_CACHE; a second run only looks.
#
#   install.sh                 install what is missing; without root and with a package missing: say the line and exit 1
#   install.sh check           only look; exit 1 when something is missing
#   install.sh python          print the interpreter of the venv
SERVICE=install
. "$(dirname "$0")/lib.sh"
HERE=$(cd "$(dirname "$0")" && pwd)

# Debian packages by the command that shows that they are there
missing_packages() {
  local m=""
  command -v java >/dev/null && command -v javac >/dev/null || m="$m $(jdk_package)"
  command -v mvn >/dev/null || m="$m maven"
  command -v curl >/dev/null || m="$m curl"
  command -v setsid >/dev/null && command -v flock >/dev/null || m="$m util-linux"
  command -v python3 >/dev/null || m="$m python3"
  python3 -c 'import venv, ensurepip' 2>/dev/null || m="$m python3-venv"
  echo "$m"
}
# Flink 2.3 and Kafka 4.4 run on Java 17 and newer; a Debian has one of these
jdk_package() { apt-cache show openjdk-17-jdk-headless >/dev/null 2>&1 && echo openjdk-17-jdk-headless || echo default-jdk-headless; }

packages() {
  local m; m=$(missing_packages)
  [ -n "${m// }" ] || return 0
  command -v apt-get >/dev/null || die "missing:$m, and this is no Debian: install them as your system has them"
  [ "$(id -u)" = 0 ] || die "packages are missing; as root: apt-get update && apt-get install -y --no-install-recommends$m"
  say "installing$m"
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -q >"$TESTBED_CACHE/apt.log" 2>&1 || { tail -5 "$TESTBED_CACHE/apt.log" >&2; die "apt-get update failed"; }
  m=$(missing_packages)  # the lists may offer another Java now
  # shellcheck disable=SC2086
  apt-get install -q -y --no-install-recommends $m >>"$TESTBED_CACHE/apt.log" 2>&1 ||
    { tail -20 "$TESTBED_CACHE/apt.log" >&2; die "apt-get could not install$m"; }
}

java_new_enough() {
  local v; v=$(java -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p' | head -1)
  [ "${v:-0}" -ge 17 ] || die "java is of version ${v:-unknown}; Flink 2.3 needs 17 or newer"
}

venv_ready() { cmp -s "$HERE/requirements.txt" "$TESTBED_CACHE/venv/.complete"; }
venv() {
  venv_ready && return 0
  say "making the Python venv (first use only)"
  rm -rf "$TESTBED_CACHE/venv"
  python3 -m venv "$TESTBED_CACHE/venv" && "$TESTBED_CACHE/venv/bin/python" -m pip install -q --disable-pip-version-check --only-binary :all: \
    -r "$HERE/requirements.txt" >"$TESTBED_CACHE/venv.log" 2>&1 || { tail -20 "$TESTBED_CACHE/venv.log" >&2; die "pip could not install the readers"; }
  "$TESTBED_CACHE/venv/bin/python" -c 'import duckdb, pyarrow.parquet, xxhash' || die "the readers do not load"
  cp "$HERE/requirements.txt" "$TESTBED_CACHE/venv/.complete"
}

check() {
  local m; m=$(missing_packages)
  [ -z "${m// }" ] && venv_ready && "$HERE/kafka.sh" installed && "$HERE/hdfs.sh" installed && "$HERE/flink.sh" installed
}

mkdir -p "$TESTBED_CACHE"
case ${1:-} in
  '')
    check 2>/dev/null && exit 0
    command -v flock >/dev/null || packages
    exec 9>"$TESTBED_CACHE/install.lock"; flock 9  # two test beds at once: the second finds everything there
    packages; java_new_enough; venv
    "$HERE/kafka.sh" install && "$HERE/hdfs.sh" install && "$HERE/flink.sh" install || die "a server could not be installed, see above"
    say "all there: $TESTBED_CACHE";;
  check) check;;
  python) echo "$TESTBED_CACHE/venv/bin/python";;
  *) usage;;
esac
