package conf

import (
	"net"
	"os"
	"os/user"
	"slices"
	"strconv"
	"strings"

	"staunch/fault"
)

// Node is one NameNode.
type Node struct {
	// ID is its id in the name service, or "" for one that is named by its address.
	ID string
	// Addr is host:port of its RPC server.
	Addr string
}

// Cluster is one HDFS, as a client needs to know it.
type Cluster struct {
	// Name is `hdfs://NS` or `hdfs://host:port`: the same for every spelling of the same cluster.
	Name  string
	Nodes []Node
	// User acts.
	User string
	// BlockSize in bytes, Replication, BytesPerChecksum and Checksum ("CRC32C", "CRC32", "NULL") are 0 or "" where the configuration leaves them
	// to the NameNode.
	BlockSize        int64
	Replication      int
	BytesPerChecksum int
	Checksum         string
	// Umask is taken from the permissions of new files (0666) and folders (0777).
	Umask uint32
	// SocketTimeout is how long a DataNode may owe an answer, in milliseconds; 0 leaves it to the client.
	SocketTimeout int64
	// UseHostname: DataNodes are reached by their names, not by their addresses.
	UseHostname bool
}

// DefaultPort is the NameNode's RPC port where an address has none.
const DefaultPort = "8020"

// User is the acting user's name: HADOOP_USER_NAME, else the system's.
func User(getenv func(string) string) string {
	if getenv != nil {
		if n := strings.TrimSpace(getenv("HADOOP_USER_NAME")); n != "" {
			return n
		}
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	// A container may run under a number that no list of users knows.
	return strconv.Itoa(os.Getuid())
}

// Authority splits `hdfs://authority/path`, `hdfs:///path` and `hdfs:/path`; the authority is "" for the default file system.
func Authority(uri string) (authority, path string, err error) {
	_, rest, _ := strings.Cut(uri, ":")
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		authority, path, _ = strings.Cut(after, "/")
		path = "/" + path
		if strings.Contains(authority, "@") {
			return "", "", fault.Userf("path %q: a user does not belong there", uri).WithHint("set HADOOP_USER_NAME")
		}
		return authority, path, nil
	}
	if !strings.HasPrefix(rest, "/") {
		return "", "", fault.Userf("path %q is relative; after hdfs: it must begin with a slash", uri).WithHint("write hdfs:///..., or hdfs://NAMESERVICE/...")
	}
	return "", rest, nil
}

// Cluster finds the cluster of an authority: a name service, host:port, host, or "" for the default file system.
func (c *Conf) Cluster(authority string) (Cluster, error) {
	auth, err := c.Get("hadoop.security.authentication")
	if err != nil {
		return Cluster{}, err
	}
	if auth != "" && !strings.EqualFold(auth, "simple") {
		return Cluster{}, fault.Userf("%s: hadoop.security.authentication is %q; only 'simple' is supported yet, not Kerberos", c.where("hadoop.security.authentication"), auth).
			WithHint("use a cluster without Kerberos; mounting the secured one on this machine (NFS gateway, FUSE) makes it a local path")
	}
	if authority == "" {
		if authority, err = c.defaultAuthority(); err != nil {
			return Cluster{}, err
		}
	}
	k := Cluster{}
	if err := c.nodes(&k, authority); err != nil {
		return Cluster{}, err
	}
	err = c.settings(&k)
	return k, err
}

func (c *Conf) where(key string) string {
	if p, ok := c.props[key]; ok {
		return p.file
	}
	return "Hadoop configuration"
}

func (c *Conf) defaultAuthority() (string, error) {
	fs, err := c.Get("fs.defaultFS")
	if err != nil {
		return "", err
	}
	if fs == "" && c.Dir == "" {
		return "", fault.Userf("an hdfs path without a name service needs a Hadoop configuration, and HADOOP_CONF_DIR is not set").
			WithHint("set HADOOP_CONF_DIR to the folder with core-site.xml and hdfs-site.xml, or write hdfs://HOST:PORT/path")
	}
	if fs == "" {
		return "", fault.Userf("an hdfs path without a name service means fs.defaultFS, which %s does not set", c.Dir+"/core-site.xml").
			WithHint("set it, or write hdfs://NAMESERVICE/path")
	}
	rest, ok := strings.CutPrefix(fs, "hdfs://")
	authority, _, _ := strings.Cut(rest, "/")
	if !ok || authority == "" {
		return "", fault.Userf("%s: fs.defaultFS is %q, which is no HDFS", c.where("fs.defaultFS"), fs).WithHint("write hdfs://NAMESERVICE/path")
	}
	return authority, nil
}

// services are the configured name services.
func (c *Conf) services() ([]string, error) { return c.list("dfs.nameservices") }

func (c *Conf) list(key string) ([]string, error) {
	v, err := c.Get(key)
	if err != nil {
		return nil, err
	}
	var out []string
	for s := range strings.SplitSeq(v, ",") {
		if s = strings.TrimSpace(s); s != "" {
			out = append(out, s)
		}
	}
	return out, nil
}

// serviceNodes are the NameNodes of a name service, or none if the configuration does not list it.
func (c *Conf) serviceNodes(ns string) ([]Node, error) {
	ids, err := c.list("dfs.ha.namenodes." + ns)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		addr, err := c.Get("dfs.namenode.rpc-address." + ns)
		if err != nil || addr == "" {
			return nil, err
		}
		return []Node{{Addr: withPort(addr)}}, nil
	}
	var nodes []Node
	for _, id := range ids {
		key := "dfs.namenode.rpc-address." + ns + "." + id
		addr, err := c.Get(key)
		if err != nil {
			return nil, err
		}
		if addr == "" {
			return nil, fault.Userf("%s lists the NameNode %s of %s, but %s is not set", c.where("dfs.ha.namenodes."+ns), id, ns, key).
				WithHint("set %s to HOST:PORT in hdfs-site.xml", key)
		}
		if _, _, err := net.SplitHostPort(withPort(addr)); err != nil {
			return nil, fault.Userf("%s: %s is %q, want HOST:PORT", c.where(key), key, addr)
		}
		nodes = append(nodes, Node{ID: id, Addr: withPort(addr)})
	}
	return nodes, nil
}

func withPort(addr string) string {
	if _, _, err := net.SplitHostPort(addr); err == nil {
		return addr
	}
	return net.JoinHostPort(strings.Trim(addr, "[]"), DefaultPort)
}

// nodes finds the NameNodes of an authority.
func (c *Conf) nodes(k *Cluster, authority string) error {
	services, err := c.services()
	if err != nil {
		return err
	}
	host, port := authority, ""
	if h, p, err := net.SplitHostPort(authority); err == nil {
		host, port = h, p
	}
	for _, ns := range services {
		nodes, err := c.serviceNodes(ns)
		if err != nil {
			return err
		}
		switch {
		case ns == host && port != "" && len(nodes) > 1:
			return fault.Userf("hdfs://%s: %s is a name service of several NameNodes, which has no port", authority, ns).WithHint("write hdfs://%s/...", ns)
		case ns == authority && len(nodes) == 0:
			return fault.Userf("name service %s: neither dfs.ha.namenodes.%s nor dfs.namenode.rpc-address.%s is set in %s", ns, ns, ns, c.Dir+"/hdfs-site.xml").
				WithHint("set dfs.ha.namenodes.%s and one dfs.namenode.rpc-address.%s.ID for each", ns, ns)
		case ns == authority, slices.ContainsFunc(nodes, func(n Node) bool { return n.Addr == withPort(authority) }):
			k.Name, k.Nodes = "hdfs://"+ns, nodes
			return nil
		}
	}
	if host == "" || port == "" && !known(host) {
		return c.unknown(authority, services)
	}
	if port != "" {
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 {
			return fault.Userf("hdfs://%s: %q is no port", authority, port)
		}
	}
	addr := withPort(authority)
	k.Name, k.Nodes = "hdfs://"+addr, []Node{{Addr: addr}}
	return nil
}

// known reports whether a name without a port is a host: what is no name service and no host is a mistake in the configuration.
func known(host string) bool {
	addrs, err := net.LookupHost(strings.Trim(host, "[]"))
	return err == nil && len(addrs) > 0
}

func (c *Conf) unknown(authority string, services []string) error {
	e := fault.Userf("hdfs://%s: no name service of that name is configured, and no host of that name is known", authority)
	switch {
	case c.Dir == "":
		return e.WithHint("set HADOOP_CONF_DIR to the folder with the cluster's core-site.xml and hdfs-site.xml, or write hdfs://HOST:PORT/path")
	case len(services) > 0:
		return e.WithHint("%s knows %s; add it to dfs.nameservices there, or write hdfs://HOST:PORT/path", c.Dir+"/hdfs-site.xml", strings.Join(services, ", "))
	}
	return e.WithHint("dfs.nameservices in %s names none; add it, or write hdfs://HOST:PORT/path", c.Dir+"/hdfs-site.xml")
}

// settings reads what does not depend on the NameNode.
func (c *Conf) settings(k *Cluster) (err error) {
	k.User = User(c.env)
	if k.BlockSize, err = c.size("dfs.blocksize", 512, 1<<50); err != nil {
		return err
	}
	n, err := c.size("dfs.replication", 1, 512)
	if err != nil {
		return err
	}
	k.Replication = int(n)
	if n, err = c.size("dfs.bytes-per-checksum", 1, 1<<20); err != nil {
		return err
	}
	k.BytesPerChecksum = int(n)
	if k.Checksum, err = c.Get("dfs.checksum.type"); err != nil {
		return err
	}
	k.Checksum = strings.ToUpper(k.Checksum)
	if !slices.Contains([]string{"", "CRC32C", "CRC32", "NULL"}, k.Checksum) {
		return fault.Userf("%s: dfs.checksum.type is %q, want CRC32C or CRC32", c.where("dfs.checksum.type"), k.Checksum)
	}
	if k.SocketTimeout, err = c.size("dfs.client.socket-timeout", 1, 1<<31); err != nil {
		return err
	}
	host, err := c.Get("dfs.client.use.datanode.hostname")
	if err != nil {
		return err
	}
	k.UseHostname = strings.EqualFold(host, "true")
	umask, err := c.Get("fs.permissions.umask-mode")
	if err != nil {
		return err
	}
	k.Umask = 0o022
	if umask != "" {
		u, err := strconv.ParseUint(umask, 8, 32)
		if err != nil || u > 0o777 {
			return fault.Userf("%s: fs.permissions.umask-mode is %q; only the octal form is supported, for example 022", c.where("fs.permissions.umask-mode"), umask)
		}
		k.Umask = uint32(u)
	}
	return nil
}

// size reads a number with an optional k, m, g, t, p or e for powers of 1024; 0 if it is not set.
func (c *Conf) size(key string, least, most int64) (int64, error) {
	v, err := c.Get(key)
	if err != nil || v == "" {
		return 0, err
	}
	digits, shift := v, 0
	if i := strings.IndexByte("kmgtpe", v[len(v)-1]|0x20); i >= 0 && (v[len(v)-1] < '0' || v[len(v)-1] > '9') {
		digits, shift = v[:len(v)-1], 10*(i+1)
	}
	n, err := strconv.ParseInt(strings.TrimSpace(digits), 10, 64)
	if err != nil || n < 0 || n > most>>shift || n<<shift < least {
		return 0, fault.Userf("%s: %s is %q, want a number from %d to %d", c.where(key), key, v, least, most)
	}
	return n << shift, nil
}
