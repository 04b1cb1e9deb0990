package peer

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// HDFS is the run's HDFS: a pair of NameNodes with the names nn1 and nn2, of which one is active, a JournalNode jn1, and the
// DataNodes dn1, dn2 and dn3. All tests of a run share it, so a test works in folders of its own, and its faults are healed when
// it ends.
type HDFS struct {
	ConfDir   string    // HADOOP_CONF_DIR; hdfs://testbed and hdfs:/// are this pair
	NameNodes [2]string // host:port of nn1 and nn2 for RPC
	Web       [2]string // host:port of nn1 and nn2 for WebHDFS; the standby refuses
	Audit     [2]string // audit logs of nn1 and nn2: one line for each call

	t testing.TB
}

// NewHDFS gives a test the run's HDFS. When the test ends, daemons that it stopped or killed run again and safe mode is off.
func NewHDFS(t testing.TB) *HDFS {
	t.Helper()
	h := &HDFS{ConfDir: env(t, "HADOOP_CONF_DIR"), t: t}
	for name, to := range map[string]*[2]string{"HDFS_NAMENODES": &h.NameNodes, "HDFS_WEB": &h.Web, "HDFS_AUDIT": &h.Audit} {
		a, b, ok := strings.Cut(env(t, name), ",")
		if !ok {
			t.Fatalf("%s: want two entries", name)
		}
		*to = [2]string{a, b}
	}
	t.Cleanup(func() { h.script("heal") })
	return h
}

func (h *HDFS) script(args ...string) string {
	h.t.Helper()
	return strings.TrimSpace(Script(h.t, "hdfs.sh", args...))
}

// Active returns the name of the active NameNode, nn1 or nn2; none fails the test.
func (h *HDFS) Active() string { h.t.Helper(); return h.script("active") }

// Standby returns the name of the NameNode that is not active.
func (h *HDFS) Standby() string { h.t.Helper(); return Other(h.Active()) }

// Other returns the other one of nn1 and nn2.
func Other(nameNode string) string {
	if nameNode == "nn1" {
		return "nn2"
	}
	return "nn1"
}

// Index returns the place of a NameNode in NameNodes, Web and Audit.
func Index(nameNode string) int {
	if nameNode == "nn1" {
		return 0
	}
	return 1
}

// Failover makes the active NameNode standby and then the other one active, as an administrator does.
func (h *HDFS) Failover() { h.t.Helper(); h.script("failover") }

// KillActive kills the active NameNode (SIGKILL), makes the other one active, and returns the name of the killed one, which
// stays dead until [HDFS.Restart].
func (h *HDFS) KillActive() string { h.t.Helper(); return h.script("kill-active") }

// Kill sends a signal to a daemon: KILL, TERM, STOP, CONT. It waits for the end of one that must end.
func (h *HDFS) Kill(name, signal string) { h.t.Helper(); h.script("kill", name, signal) }

// Restart starts a daemon that was killed and waits until it answers. A NameNode is standby then.
func (h *HDFS) Restart(name string) { h.t.Helper(); h.script("restart", name) }

// Activate makes a NameNode active by force, whatever the other one, which may be stopped, thinks of itself.
func (h *HDFS) Activate(name string) { h.t.Helper(); h.script("activate", name) }

// Demote makes a NameNode standby. One that was fenced while it was stopped ends at that, and is started again.
func (h *HDFS) Demote(name string) { h.t.Helper(); h.script("demote", name) }

// SafeMode switches the active NameNode's safe mode: it reads, and refuses every change.
func (h *HDFS) SafeMode(on bool) {
	h.t.Helper()
	h.Admin("-safemode", map[bool]string{true: "enter", false: "leave"}[on])
}

// Quota limits the bytes, counted over all replicas, that a folder may take; 0 takes the limit away.
func (h *HDFS) Quota(dir string, bytes int64) {
	h.t.Helper()
	if bytes == 0 {
		h.Admin("-clrSpaceQuota", dir)
		return
	}
	h.Admin("-setSpaceQuota", fmt.Sprint(bytes), dir)
}

// Admin runs Hadoop's administration tool at the active NameNode.
func (h *HDFS) Admin(args ...string) string {
	h.t.Helper()
	return h.script(append([]string{"admin"}, args...)...)
}

// Shell runs Hadoop's file system shell, e.g. Shell("-mkdir", "/x"), and returns what it printed.
func (h *HDFS) Shell(args ...string) string {
	h.t.Helper()
	return h.script(append([]string{"dfs"}, args...)...)
}

// Conf writes a client configuration of the test's own: that of ConfDir with other properties, e.g. the addresses of proxies
// (dfs.namenode.rpc-address.testbed.nn1) or dfs.replication. It returns the folder.
func (h *HDFS) Conf(properties map[string]string) string {
	h.t.Helper()
	dir := h.t.TempDir()
	for _, f := range []string{"core-site.xml", "hdfs-site.xml"} {
		b, err := os.ReadFile(filepath.Join(h.ConfDir, f))
		if err != nil {
			h.t.Fatal(err)
		}
		text := string(b)
		if f == "hdfs-site.xml" { // the last one of two properties of the same name counts
			var more strings.Builder
			for k, v := range properties {
				fmt.Fprintf(&more, "  <property><name>%s</name><value>%s</value></property>\n", k, v)
			}
			text = strings.Replace(text, "</configuration>", more.String()+"</configuration>", 1)
		}
		if err := os.WriteFile(filepath.Join(dir, f), []byte(text), 0o644); err != nil {
			h.t.Fatal(err)
		}
	}
	return dir
}

// ProxyConf is Conf with both NameNodes behind other addresses, host:port of nn1 and of nn2.
func (h *HDFS) ProxyConf(nn1, nn2 string) string {
	h.t.Helper()
	return h.Conf(map[string]string{"dfs.namenode.rpc-address.testbed.nn1": nn1, "dfs.namenode.rpc-address.testbed.nn2": nn2})
}
