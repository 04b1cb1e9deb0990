package conf

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"staunch/fault"
)

// write makes a configuration folder of properties: "key=value", in hdfs-site.xml except for fs.* and hadoop.*.
func write(t *testing.T, props ...string) *Conf {
	t.Helper()
	texts := map[string]string{}
	for _, p := range props {
		k, v, _ := strings.Cut(p, "=")
		file := "hdfs-site.xml"
		if strings.HasPrefix(k, "fs.") || strings.HasPrefix(k, "hadoop.") {
			file = "core-site.xml"
		}
		texts[file] += "<property><name>" + k + "</name><value>" + v + "</value></property>\n"
	}
	dir := t.TempDir()
	for _, f := range files {
		raw(t, dir, f, "<?xml version='1.0'?>\n<?xml-stylesheet type='text/xsl'?>\n<!-- c --><configuration>\n"+texts[f]+"</configuration>")
	}
	c, err := Load(dir, env(nil))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func raw(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func env(m map[string]string) func(string) string { return func(k string) string { return m[k] } }

var pair = []string{"fs.defaultFS=hdfs://east", "dfs.nameservices=east, west", "dfs.ha.namenodes.east=nn1,nn2", "dfs.namenode.rpc-address.east.nn1=a.example:8020",
	"dfs.namenode.rpc-address.east.nn2=b.example:9000", "dfs.ha.namenodes.west=x", "dfs.namenode.rpc-address.west.x=127.0.0.9"}

func TestNameServices(t *testing.T) {
	c := write(t, pair...)
	east := []Node{{"nn1", "a.example:8020"}, {"nn2", "b.example:9000"}}
	for authority, want := range map[string][]Node{"": east, "east": east, "b.example:9000": east, "a.example:8020": east, "a.example": east,
		"west": {{"x", "127.0.0.9:8020"}}, "127.0.0.9:8020": {{"x", "127.0.0.9:8020"}}, "127.0.0.1:9999": {{"", "127.0.0.1:9999"}}, "localhost": {{"", "localhost:8020"}}} {
		k, err := c.Cluster(authority)
		if err != nil || !slices.Equal(k.Nodes, want) {
			t.Errorf("%q: %+v, %v", authority, k, err)
			continue
		}
		name := map[bool]string{true: "hdfs://east", false: "hdfs://west"}[len(want) == 2]
		if want[0].ID == "" {
			name = "hdfs://" + want[0].Addr
		}
		if k.Name != name {
			t.Errorf("%q is named %s, want %s", authority, k.Name, name)
		}
	}
}

func TestSettings(t *testing.T) {
	k, err := write(t, append(pair, "dfs.blocksize=64m", "dfs.replication=2", "dfs.bytes-per-checksum=1024", "dfs.checksum.type=crc32",
		"dfs.client.use.datanode.hostname=true", "dfs.client.socket-timeout=30000", "fs.permissions.umask-mode=027")...).Cluster("")
	if err != nil || k.BlockSize != 64<<20 || k.Replication != 2 || k.BytesPerChecksum != 1024 || k.Checksum != "CRC32" || !k.UseHostname || k.SocketTimeout != 30000 || k.Umask != 0o27 {
		t.Errorf("%+v, %v", k, err)
	}
	k, err = write(t, pair...).Cluster("west")
	if err != nil || k.BlockSize != 0 || k.Replication != 0 || k.Checksum != "" || k.UseHostname || k.Umask != 0o22 || k.User == "" {
		t.Errorf("%+v, %v", k, err)
	}
	k, err = write(t, append(pair, "dfs.block.size=1048576")...).Cluster("")
	if err != nil || k.BlockSize != 1<<20 {
		t.Errorf("a key's former name: %+v, %v", k, err)
	}
}

func TestUser(t *testing.T) {
	if u := User(env(map[string]string{"HADOOP_USER_NAME": "flink"})); u != "flink" {
		t.Error(u)
	}
	if u := User(env(nil)); u == "" {
		t.Error("no user")
	}
}

func TestWithoutConfiguration(t *testing.T) {
	c := &Conf{env: env(nil)}
	k, err := c.Cluster("127.0.0.1:8020")
	if err != nil || k.Name != "hdfs://127.0.0.1:8020" {
		t.Errorf("%+v, %v", k, err)
	}
	refused(t, c, "", "HADOOP_CONF_DIR")
	refused(t, c, "warehouse.invalid", "HADOOP_CONF_DIR")
}

func refused(t *testing.T, c *Conf, authority string, say ...string) {
	t.Helper()
	k, err := c.Cluster(authority)
	if fault.ClassOf(err) != fault.User {
		t.Errorf("%q: %+v, %v", authority, k, err)
		return
	}
	for _, s := range say {
		if !strings.Contains(err.Error(), s) {
			t.Errorf("%v does not say %q", err, s)
		}
	}
}

func TestRefused(t *testing.T) {
	refused(t, write(t, pair...), "north.invalid", "east, west", "dfs.nameservices")
	refused(t, write(t, pair...), "east:8020", "no port")
	refused(t, write(t, pair...), "127.0.0.1:port", "port")
	refused(t, write(t, "dfs.nameservices=a"), "", "fs.defaultFS")
	refused(t, write(t, "fs.defaultFS=file:///"), "", "fs.defaultFS", "core-site.xml")
	refused(t, write(t, "dfs.nameservices=a"), "a", "dfs.ha.namenodes.a")
	refused(t, write(t, "dfs.nameservices=a", "dfs.ha.namenodes.a=n"), "a", "dfs.namenode.rpc-address.a.n")
	refused(t, write(t, append(pair, "hadoop.security.authentication=kerberos")...), "east", "kerberos", "core-site.xml", "Kerberos")
	refused(t, write(t, append(pair, "dfs.blocksize=many")...), "east", "dfs.blocksize", "many")
	refused(t, write(t, append(pair, "dfs.blocksize=1000000p")...), "east", "dfs.blocksize")
	refused(t, write(t, append(pair, "dfs.replication=0")...), "east", "dfs.replication")
	refused(t, write(t, append(pair, "dfs.checksum.type=MD5")...), "east", "dfs.checksum.type")
	refused(t, write(t, append(pair, "fs.permissions.umask-mode=u=rwx")...), "east", "umask")
	refused(t, write(t, append(pair, "dfs.replication=${dfs.replication}")...), "east", "circle")
}

func TestSubstitution(t *testing.T) {
	dir := t.TempDir()
	raw(t, dir, "core-site.xml", `<configuration>
<property><name>ns</name><value>east</value></property>
<property><name>fs.defaultFS</name><value> hdfs://${ns} </value></property>
<property><name>a</name><value>${b}-${env.SET}-${env.UNSET:-d1}-${env.UNSET-d2}-${nobody}-${open</value></property>
<property><name>b</name><value>[${ns}]</value></property>
<property><name>fixed</name><value>1</value><final>true</final></property>
<property><name>later</name><value>1</value></property>
<property name="short" value="form"/>
</configuration>`)
	raw(t, dir, "hdfs-site.xml", `<configuration><property><name>fixed</name><value>2</value></property><property><name>later</name><value>2</value></property></configuration>`)
	c, err := Load(dir, env(map[string]string{"SET": "v"}))
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]string{"fs.defaultFS": "hdfs://east", "a": "[east]-v-d1-d2-${nobody}-${open", "fixed": "1", "later": "2", "short": "form", "none": ""} {
		if got, err := c.Get(key); got != want || err != nil {
			t.Errorf("%s = %q, %v; want %q", key, got, err, want)
		}
	}
}

func TestBadFiles(t *testing.T) {
	for text, say := range map[string]string{
		`<configuration xmlns:xi="http://www.w3.org/2001/XInclude"><xi:include href="x.xml"/></configuration>`: "XInclude",
		`<configuration><xi:include href="x.xml"/></configuration>`:                                            "XInclude",
		`<configuration><property><value>1</value></property></configuration>`:                                 "<name>",
		`<property><name>a</name></property>`:                                                                  "<configuration>",
		`<configuration><property>`:                                                                            "core-site.xml",
		``:                                                                                                     "<configuration>",
		`not xml`:                                                                                              "<configuration>",
	} {
		dir := t.TempDir()
		raw(t, dir, "core-site.xml", text)
		if _, err := Load(dir, env(nil)); fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), say) || !strings.Contains(err.Error(), "core-site.xml") {
			t.Errorf("%s: %v", text, err)
		}
	}
	if _, err := Load(t.TempDir(), env(nil)); fault.ClassOf(err) != fault.User || !strings.Contains(err.Error(), "HADOOP_CONF_DIR") {
		t.Errorf("an empty folder: %v", err)
	}
}

func TestAuthority(t *testing.T) {
	for uri, want := range map[string][2]string{"hdfs://ns/a/b": {"ns", "/a/b"}, "hdfs:///a": {"", "/a"}, "hdfs:/a": {"", "/a"}, "hdfs://h:1/": {"h:1", "/"},
		"hdfs://ns": {"ns", "/"}, "HDFS://ns/x:y": {"ns", "/x:y"}} {
		a, p, err := Authority(uri)
		if err != nil || a != want[0] || p != want[1] {
			t.Errorf("%s: %q %q %v", uri, a, p, err)
		}
	}
	for _, uri := range []string{"hdfs:a/b", "hdfs:", "hdfs://bob@ns/a"} {
		if _, _, err := Authority(uri); fault.ClassOf(err) != fault.User {
			t.Errorf("%s: %v", uri, err)
		}
	}
}
