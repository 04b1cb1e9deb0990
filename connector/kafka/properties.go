package kafka

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/sasl"
	"github.com/twmb/franz-go/pkg/sasl/plain"
	"github.com/twmb/franz-go/pkg/sasl/scram"

	"staunch/config"
	"staunch/connector"
)

// properties is what `properties.*` means here.
type properties struct {
	servers      []string
	group        string
	clientPrefix string
	// reset is properties.auto.offset.reset if it was set to earliest or latest, else empty.
	reset string
	// commit says whether the offsets of completed checkpoints are committed to the group.
	commit   bool
	limits   fetchLimits
	opts     []kgo.Opt
	warnings []string
}

// Defaults that are not Kafka's: responses of 8 MiB instead of 50 MiB, and two of them held, keep the memory of a reader small. Measured with
// records of 230 bytes, larger ones are not faster.
const (
	defaultFetchMaxBytes = 8 << 20
	// attemptTimeout bounds one request other than a fetch; repeating it is cheap.
	attemptTimeout = 10 * time.Second
)

// harmless are properties of Java's clients that change nothing about what is read. Some concern group membership, which there is not.
var harmless = []string{"enable.auto.commit", "auto.commit.interval.ms", "max.poll.records", "max.poll.interval.ms", "session.timeout.ms",
	"heartbeat.interval.ms", "receive.buffer.bytes", "send.buffer.bytes", "check.crcs", "metrics.num.samples", "metrics.recording.level",
	"metrics.sample.window.ms", "metric.reporters", "auto.include.jmx.reporter", "enable.metrics.push", "partition.assignment.strategy",
	"group.instance.id", "group.protocol", "group.remote.assignor", "client.rack", "client.dns.lookup", "exclude.internal.topics",
	"allow.auto.create.topics", "security.providers", "ssl.provider", "ssl.protocol", "ssl.enabled.protocols", "ssl.cipher.suites",
	"ssl.keymanager.algorithm", "ssl.trustmanager.algorithm", "ssl.secure.random.implementation", "partition.discovery.interval.ms",
	"register.consumer.metrics", "metadata.recovery.strategy", "metadata.recovery.rebootstrap.trigger.ms", "socket.connection.setup.timeout.max.ms",
	"retry.backoff.max.ms", "retries",
	// of producers, which share a WITH clause with the source
	"acks", "linger.ms", "batch.size", "buffer.memory", "compression.type", "compression.gzip.level", "compression.lz4.level",
	"compression.zstd.level", "delivery.timeout.ms", "enable.idempotence", "max.block.ms", "max.in.flight.requests.per.connection",
	"max.request.size", "metadata.max.idle.ms", "partitioner.class", "partitioner.ignore.keys", "partitioner.adaptive.partitioning.enable",
	"partitioner.availability.timeout.ms", "transaction.timeout.ms", "transactional.id"}

// refused are known properties that would change what is read or sent, and why they cannot be had.
var refused = map[string]string{
	"key.deserializer":         "records are decoded by 'format'",
	"value.deserializer":       "records are decoded by 'format'",
	"key.serializer":           "records are encoded by 'format'",
	"value.serializer":         "records are encoded by 'format'",
	"interceptor.classes":      "Java classes cannot be loaded",
	"config.providers":         "Java classes cannot be loaded",
	"ssl.engine.factory.class": "Java classes cannot be loaded",
}

// newProperties reads the properties of a table.
func newProperties(t connector.Table) (properties, error) {
	r := &propertyReader{o: t.Options, props: t.Options.Map("properties."), used: map[string]bool{}}
	p := properties{servers: splitServers(r.text("bootstrap.servers", "")), group: r.text("group.id", "")}
	p.clientPrefix = r.text("client.id.prefix", r.text("client.id", p.group))
	r.used["client.id"] = true
	if p.clientPrefix == "" {
		p.clientPrefix = "staunch"
	}
	switch reset := strings.ToLower(r.text("auto.offset.reset", "")); reset {
	case "earliest", "latest":
		p.reset = reset
	case "", "none":
	default:
		r.fail("auto.offset.reset", "accepted is earliest, latest or none")
	}
	p.commit = p.group != "" && r.bool("commit.offsets.on.checkpoint", true)
	p.limits = r.limits()
	p.opts = append([]kgo.Opt{kgo.SeedBrokers(p.servers...), kgo.DisableClientMetrics(), kgo.BrokerMaxReadBytes(1 << 30),
		kgo.RequestTimeoutOverhead(r.millis("request.timeout.ms", 30*time.Second)),
		kgo.ConnIdleTimeout(r.millis("connections.max.idle.ms", 9*time.Minute)),
		kgo.RequestRetries(0)}, r.security()...)
	p.warnings = r.rest()
	if err := errors.Join(r.errs...); err != nil {
		return p, err
	}
	if err := kgo.ValidateOpts(p.opts...); err != nil { // limits of the client that are narrower than those of Java's
		return p, fmt.Errorf("%s: properties: %w", r.o.Owner(), err)
	}
	return p, nil
}

// client opens a client; nothing is sent yet.
func (p *properties) client(id string) (*kgo.Client, error) {
	cl, err := kgo.NewClient(append(slices.Clone(p.opts), kgo.ClientID(id))...)
	if err != nil {
		return nil, fmt.Errorf("kafka client for %s: %w", strings.Join(p.servers, ","), err)
	}
	return cl, nil
}

func splitServers(text string) (out []string) {
	for _, s := range strings.Split(text, ",") {
		if s = strings.TrimSpace(s); s != "" {
			// Java's clients accept a protocol in front
			if _, after, ok := strings.Cut(s, "://"); ok {
				s = after
			}
			out = append(out, s)
		}
	}
	return out
}

// propertyReader reads Java client properties and remembers which it knew.
type propertyReader struct {
	o     config.Values
	props map[string]string
	used  map[string]bool
	errs  []error
}

func (r *propertyReader) fail(key, format string, args ...any) {
	r.errs = append(r.errs, r.o.Errorf("properties."+key, format, args...))
}

func (r *propertyReader) text(key, def string) string {
	r.used[key] = true
	if v, ok := r.props[key]; ok {
		return strings.TrimSpace(v)
	}
	return def
}

func (r *propertyReader) bool(key string, def bool) bool {
	switch strings.ToLower(r.text(key, strconv.FormatBool(def))) {
	case "true":
		return true
	case "false":
		return false
	}
	r.fail(key, "accepted is true or false")
	return def
}

func (r *propertyReader) int(key string, def, least int64) int64 {
	n, err := strconv.ParseInt(r.text(key, strconv.FormatInt(def, 10)), 10, 64)
	if err != nil || n < least || n > math.MaxInt32 {
		r.fail(key, "accepted is a whole number from %d to %d", least, math.MaxInt32)
		return def
	}
	return n
}

func (r *propertyReader) millis(key string, def time.Duration) time.Duration {
	return time.Duration(r.int(key, def.Milliseconds(), 1)) * time.Millisecond
}

func (r *propertyReader) limits() fetchLimits {
	l := fetchLimits{
		maxBytes:          int32(r.int("fetch.max.bytes", defaultFetchMaxBytes, 1<<10)),
		partitionMaxBytes: int32(r.int("max.partition.fetch.bytes", 1<<20, 1<<10)),
		minBytes:          int32(r.int("fetch.min.bytes", 1, 0)),
		maxWait:           time.Duration(r.int("fetch.max.wait.ms", 500, 0)) * time.Millisecond,
		apiTimeout:        r.millis("default.api.timeout.ms", time.Minute),
		backoffMin:        r.millis("retry.backoff.ms", 100*time.Millisecond),
		metadataMaxAge:    r.millis("metadata.max.age.ms", 5*time.Minute),
		warnEvery:         10 * time.Second,
	}
	r.int("reconnect.backoff.ms", 50, 0)
	l.backoffMax = max(l.backoffMin, r.millis("reconnect.backoff.max.ms", time.Second))
	l.bufferBytes = 2 * int64(l.maxBytes)
	switch v := r.text("isolation.level", "read_uncommitted"); v {
	case "read_committed":
		l.isolation = 1
	case "read_uncommitted":
	default:
		r.fail("isolation.level", "accepted is read_committed or read_uncommitted")
	}
	return l
}

// security gives the options for security.protocol, ssl.* and sasl.*.
func (r *propertyReader) security() []kgo.Opt {
	protocol := strings.ToUpper(r.text("security.protocol", "PLAINTEXT"))
	setup := r.millis("socket.connection.setup.timeout.ms", 10*time.Second)
	opts := []kgo.Opt{kgo.DialTimeout(setup)}
	switch protocol {
	case "PLAINTEXT", "SASL_PLAINTEXT":
		for _, k := range []string{"ssl.truststore.location", "ssl.truststore.certificates", "ssl.truststore.type", "ssl.truststore.password",
			"ssl.keystore.location", "ssl.keystore.certificate.chain", "ssl.keystore.key", "ssl.keystore.type", "ssl.keystore.password",
			"ssl.key.password", "ssl.endpoint.identification.algorithm"} {
			if r.text(k, "") != "" {
				r.fail(k, "has no effect with 'properties.security.protocol' = '%s'; set that to SSL or SASL_SSL", protocol)
			}
		}
	case "SSL", "SASL_SSL":
		opts = append(opts, kgo.DialTLSConfig(r.tls()))
	default:
		r.fail("security.protocol", "accepted is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL")
		return nil
	}
	if strings.HasPrefix(protocol, "SASL_") {
		if m := r.sasl(); m != nil {
			opts = append(opts, kgo.SASL(m))
		}
	}
	return opts
}

// sasl gives the mechanism of sasl.mechanism with the credentials of sasl.jaas.config.
func (r *propertyReader) sasl() sasl.Mechanism {
	mechanism, jaas := strings.ToUpper(r.text("sasl.mechanism", "GSSAPI")), r.text("sasl.jaas.config", "")
	switch mechanism {
	case "PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512":
	case "GSSAPI", "OAUTHBEARER":
		r.fail("sasl.mechanism", "%s is not there yet; there are PLAIN, SCRAM-SHA-256 and SCRAM-SHA-512", mechanism)
		return nil
	default:
		r.fail("sasl.mechanism", "accepted is PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512")
		return nil
	}
	login, err := parseJAAS(jaas)
	if err != nil {
		r.fail("sasl.jaas.config", "%v", err)
		return nil
	}
	switch mechanism {
	case "PLAIN":
		return plain.Auth{User: login["username"], Pass: login["password"]}.AsMechanism()
	case "SCRAM-SHA-256":
		return scram.Auth{User: login["username"], Pass: login["password"]}.AsSha256Mechanism()
	}
	return scram.Auth{User: login["username"], Pass: login["password"]}.AsSha512Mechanism()
}

var errJAAS = errors.New(`accepted is: <login module> required username="..." password="...";`)

// parseJAAS reads the options of `module required key="value" ...;`. Errors do not show the text, which holds a password.
func parseJAAS(text string) (map[string]string, error) {
	text, ended := strings.CutSuffix(strings.TrimSpace(text), ";")
	module, rest, _ := strings.Cut(text, " ")
	flag, rest, _ := strings.Cut(strings.TrimSpace(rest), " ")
	if !ended || !strings.EqualFold(flag, "required") {
		return nil, errJAAS
	}
	if !strings.HasSuffix(module, "PlainLoginModule") && !strings.HasSuffix(module, "ScramLoginModule") {
		return nil, errors.New("only PlainLoginModule and ScramLoginModule are possible")
	}
	out := map[string]string{}
	for rest = strings.TrimSpace(rest); rest != ""; rest = strings.TrimSpace(rest) {
		key, value, ok := strings.Cut(rest, "=")
		value = strings.TrimSpace(value)
		if !ok || value == "" {
			return nil, errJAAS
		}
		if value[0] != '"' && value[0] != '\'' {
			word, after, _ := strings.Cut(value, " ")
			out[strings.TrimSpace(key)], rest = word, after
			continue
		}
		var b strings.Builder
		i := 1
		for ; i < len(value) && value[i] != value[0]; i++ {
			if value[i] == '\\' && i+1 < len(value) {
				i++
			}
			b.WriteByte(value[i])
		}
		if i == len(value) {
			return nil, errJAAS
		}
		out[strings.TrimSpace(key)], rest = b.String(), value[i+1:]
	}
	if out["username"] == "" || out["password"] == "" {
		return nil, errJAAS
	}
	return out, nil
}

func (r *propertyReader) tls() *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12}
	if kind := r.text("ssl.truststore.type", "PEM"); !strings.EqualFold(kind, "PEM") {
		r.fail("ssl.truststore.type", "only PEM is possible; convert the store: keytool -exportcert -rfc")
	}
	r.text("ssl.truststore.password", "")
	c.RootCAs = r.roots()
	chain, key := r.keyPair()
	if chain != nil {
		pair, err := tls.X509KeyPair(chain, key)
		if err != nil {
			r.fail("ssl.keystore.certificate.chain", "certificate and key of the client: %v", err)
		}
		c.Certificates = []tls.Certificate{pair}
	}
	if _, set := r.props["ssl.endpoint.identification.algorithm"]; set && r.text("ssl.endpoint.identification.algorithm", "") == "" {
		skipHostName(c)
	}
	r.used["ssl.endpoint.identification.algorithm"] = true
	return c
}

// skipHostName lets the server's certificate be for another host, as Java does with an empty ssl.endpoint.identification.algorithm; it is
// still checked against the roots.
func skipHostName(c *tls.Config) {
	roots := c.RootCAs
	c.InsecureSkipVerify = true // replaced by VerifyConnection
	c.VerifyConnection = func(s tls.ConnectionState) error {
		between := x509.NewCertPool()
		for _, cert := range s.PeerCertificates[1:] {
			between.AddCert(cert)
		}
		_, err := s.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
		return err
	}
}

// roots are the trusted certificates; nil = the system's.
func (r *propertyReader) roots() *x509.CertPool {
	pem, file := r.text("ssl.truststore.certificates", ""), r.text("ssl.truststore.location", "")
	key := "ssl.truststore.certificates"
	if file != "" {
		if pem != "" {
			r.fail("ssl.truststore.location", "given together with 'properties.ssl.truststore.certificates'; leave one out")
		}
		key = "ssl.truststore.location"
		b, err := os.ReadFile(file)
		if err != nil {
			r.fail(key, "%v", err)
			return nil
		}
		pem = string(b)
	}
	if pem == "" {
		return nil
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM([]byte(pem)) {
		r.fail(key, "holds no certificate in PEM form; a Java key store is converted by: keytool -exportcert -rfc")
	}
	return pool
}

// keyPair is the client's certificate chain and key in PEM form, nil if there is none.
func (r *propertyReader) keyPair() (chain, key []byte) {
	if kind := r.text("ssl.keystore.type", "PEM"); !strings.EqualFold(kind, "PEM") {
		r.fail("ssl.keystore.type", "only PEM is possible")
	}
	for _, k := range []string{"ssl.key.password", "ssl.keystore.password"} {
		if r.text(k, "") != "" {
			r.fail(k, "encrypted keys are not possible; give the key without a password")
		}
	}
	chain, key = []byte(r.text("ssl.keystore.certificate.chain", "")), []byte(r.text("ssl.keystore.key", ""))
	if file := r.text("ssl.keystore.location", ""); file != "" {
		b, err := os.ReadFile(file)
		if err != nil {
			r.fail("ssl.keystore.location", "%v", err)
		}
		return b, b
	}
	if len(chain) == 0 {
		return nil, nil
	}
	return chain, key
}

// rest judges the properties that nobody asked for: an error for unknown and refused ones, one warning for harmless ones.
func (r *propertyReader) rest() (warnings []string) {
	var idle []string
	for _, k := range slices.Sorted(maps.Keys(r.props)) {
		switch why, isRefused := refused[k]; {
		case r.used[k]:
		case slices.Contains(harmless, k):
			idle = append(idle, k)
		case isRefused:
			r.fail(k, "cannot be set: %s", why)
		case strings.HasPrefix(k, "sasl."):
			r.fail(k, "needs 'properties.security.protocol' = 'SASL_SSL' or 'SASL_PLAINTEXT', or is not there yet")
		case strings.HasPrefix(k, "ssl."):
			r.fail(k, "needs 'properties.security.protocol' = 'SSL' or 'SASL_SSL', or is not known")
		default:
			r.fail(k, "%s", r.unknown(k))
		}
	}
	if len(idle) > 0 {
		warnings = append(warnings, fmt.Sprintf("%s: Kafka properties accepted without effect: %s", r.o.Owner(), strings.Join(idle, ", ")))
	}
	return warnings
}

func (r *propertyReader) unknown(key string) string {
	known := append(slices.Collect(maps.Keys(r.used)), harmless...)
	if near, ok := config.Nearest(key, known); ok {
		return fmt.Sprintf("unknown property of Kafka's client; did you mean 'properties.%s'?", near)
	}
	return "unknown property of Kafka's client; remove it"
}
