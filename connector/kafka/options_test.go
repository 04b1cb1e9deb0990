package kafka

import (
	"strings"
	"testing"

	"staunch/config"
	"staunch/connector"
	"staunch/fault"
	"staunch/types"
)

// TestRefusals: wrong WITH clauses are refused with the key, what is wrong and what to do.
func TestRefusals(t *testing.T) {
	base := map[string]string{"connector": "kafka", "format": "plain", "topic": "in", "properties.bootstrap.servers": "h:9092", "scan.startup.mode": "earliest-offset"}
	for _, c := range []struct {
		kv   map[string]string
		want []string
	}{
		{map[string]string{"topic": ""}, []string{"'topic'", "topic-pattern"}},
		{map[string]string{"topic-pattern": "x"}, []string{"'topic-pattern'", "only one"}},
		{map[string]string{"topic": "", "topic-pattern": "x("}, []string{"'topic-pattern'", "regular expression"}},
		{map[string]string{"properties.bootstrap.servers": "h"}, []string{"bootstrap.servers", "no port"}},
		{map[string]string{"properties.bootstrap.servers": "h:99999"}, []string{"bootstrap.servers", "99999"}},
		{map[string]string{"properties.gruop.id": "g"}, []string{"properties.gruop.id", "'properties.group.id'"}},
		{map[string]string{"properties.xyzzy": "g"}, []string{"properties.xyzzy", "unknown"}},
		{map[string]string{"properties.sasl.mechanism": "PLAIN"}, []string{"properties.sasl.mechanism", "SASL_SSL"}},
		{map[string]string{"properties.security.protocol": "SASL_SSL"}, []string{"properties.sasl.mechanism", "GSSAPI is not there yet", "SCRAM-SHA-256"}},
		{map[string]string{"properties.security.protocol": "SASL_SSL", "properties.sasl.mechanism": "PLAINN"}, []string{"properties.sasl.mechanism", "SCRAM-SHA-256"}},
		{map[string]string{"properties.security.protocol": "SASL_SSL", "properties.sasl.mechanism": "PLAIN"}, []string{"sasl.jaas.config", "username"}},
		{map[string]string{"properties.security.protocol": "SASL_SSL", "properties.sasl.mechanism": "PLAIN", "properties.sasl.jaas.config": `a.Krb5LoginModule required;`},
			[]string{"sasl.jaas.config", "only PlainLoginModule"}},
		{map[string]string{"properties.security.protocol": "TLS"}, []string{"security.protocol", "PLAINTEXT, SSL"}},
		{map[string]string{"properties.ssl.truststore.location": "/x"}, []string{"ssl.truststore.location", "SSL"}},
		{map[string]string{"properties.security.protocol": "SSL", "properties.ssl.truststore.location": "/nowhere/x.pem"}, []string{"ssl.truststore.location", "no such file"}},
		{map[string]string{"properties.security.protocol": "SSL", "properties.ssl.truststore.type": "JKS"}, []string{"ssl.truststore.type", "PEM"}},
		{map[string]string{"properties.auto.offset.reset": "last"}, []string{"auto.offset.reset", "earliest, latest or none"}},
		{map[string]string{"properties.isolation.level": "committed"}, []string{"isolation.level", "read_committed"}},
		{map[string]string{"properties.fetch.max.bytes": "many"}, []string{"fetch.max.bytes", "whole number"}},
		{map[string]string{"properties.request.timeout.ms": "1"}, []string{"table src", "timeout"}},
		{map[string]string{"properties.connections.max.idle.ms": "1"}, []string{"table src", "idle"}},
		{map[string]string{"properties.interceptor.classes": "a.B"}, []string{"interceptor.classes", "Java"}},
		{map[string]string{"properties.value.deserializer": "a.B"}, []string{"value.deserializer", "format"}},
		{map[string]string{"scan.startup.mode": "timestamp"}, []string{"scan.startup.timestamp-millis", "missing"}},
		{map[string]string{"scan.startup.mode": "specific-offsets"}, []string{"scan.startup.specific-offsets", "missing"}},
		{map[string]string{"scan.startup.mode": "group-offsets"}, []string{"properties.group.id", "missing"}},
		{map[string]string{"scan.bounded.mode": "timestamp"}, []string{"scan.bounded.timestamp-millis", "missing"}},
		{map[string]string{"scan.startup.mode": "earlist"}, []string{"scan.startup.mode", "earliest-offset"}},
		{map[string]string{"scan.startup.specific-offsets": "0:42"}, []string{"scan.startup.specific-offsets", "partition:0,offset:42"}},
		{map[string]string{"scan.startup.specific-offsets": "partition:0,offset:1;partition:0,offset:2"}, []string{"scan.startup.specific-offsets", "twice"}},
		{map[string]string{"topic": "a;b", "scan.startup.mode": "specific-offsets", "scan.startup.specific-offsets": "partition:0,offset:1"}, []string{"scan.startup.mode", "one topic"}},
		{map[string]string{"key.format": "json"}, []string{"key.format", "cannot be read yet"}},
		{map[string]string{"format": ""}, []string{"'format'", "missing"}},
		{map[string]string{"format": "nosuch"}, []string{"'format'", "nosuch"}},
		{map[string]string{"value.format": "plain"}, []string{"value.format", "same"}},
	} {
		raw := map[string]string{}
		for k, v := range base {
			raw[k] = v
		}
		for k, v := range c.kv {
			raw[k] = v
			if v == "" {
				delete(raw, k)
			}
		}
		o, _, err := config.NewValues("table src", raw, nil).Check(Factory.Options)
		if err == nil {
			_, err = Factory.Source(connector.Table{Name: "src", Columns: onlyValue, AllColumns: onlyValue, Options: o, Formats: formats})
		}
		if err == nil {
			t.Errorf("%v: accepted", c.kv)
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%v: error lacks %q: %v", c.kv, w, err)
			}
		}
	}
}

// TestDamagedEnumerator: an enumerator that cannot be opened is nil, so that nobody closes it.
func TestDamagedEnumerator(t *testing.T) {
	raw := map[string]string{"connector": "kafka", "format": "plain", "topic": "in", "properties.bootstrap.servers": "h:9092", "scan.startup.mode": "earliest-offset"}
	o, _, err := config.NewValues("table src", raw, nil).Check(Factory.Options)
	if err != nil {
		t.Fatal(err)
	}
	src, err := Factory.Source(connector.Table{Name: "src", Columns: onlyValue, AllColumns: onlyValue, Options: o, Formats: formats})
	if err != nil {
		t.Fatal(err)
	}
	if e, err := src.Enumerate(connector.Context{}, []byte("{")); e != nil || fault.ClassOf(err) != fault.Damage {
		t.Errorf("%v, %v", e, err)
	}
}

func TestHarmlessProperties(t *testing.T) {
	s := newTestSource(t, onlyValue, "topic", "in", "properties.bootstrap.servers", "PLAINTEXT://h:1, i:2", "properties.enable.auto.commit", "true", "properties.acks", "all",
		"properties.client.id.prefix", "me", "properties.fetch.max.bytes", "1000000")
	if len(s.warnings) != 1 || !strings.Contains(s.warnings[0], "acks, enable.auto.commit") {
		t.Errorf("warnings %q", s.warnings)
	}
	if len(s.servers) != 2 || s.servers[0] != "h:1" || s.clientPrefix != "me" || s.limits.maxBytes != 1000000 || s.limits.bufferBytes != 2000000 {
		t.Errorf("%+v", s.properties)
	}
}

func TestMetadataTypes(t *testing.T) {
	for _, c := range []struct {
		c    connector.Column
		want string
	}{
		{connector.Column{Name: "h", Metadata: "headers", Type: metadata["headers"]}, "'headers' cannot be read yet"},
		{connector.Column{Name: "h", Metadata: "ofset", Type: types.New(types.BigInt)}, "no metadata 'ofset'"},
		{connector.Column{Name: "h", Metadata: "offset", Type: types.String_}, "declare it as BIGINT"},
		{connector.Column{Name: "h", Metadata: "timestamp", Type: types.New(types.BigInt)}, "declare it as TIMESTAMP_LTZ(3)"},
	} {
		_, err := Factory.Source(newTable(t, []connector.Column{c.c}, "topic", "in", "properties.bootstrap.servers", "h:1"))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v", c.c, err)
		}
	}
}

func TestJAAS(t *testing.T) {
	for text, want := range map[string][2]string{
		`org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="p";`: {"u", "p"},
		`x.ScramLoginModule  required  username='u v'  password="a\"b;c = d" tokenauth=false ;`:       {"u v", `a"b;c = d`},
		`ScramLoginModule REQUIRED password=p username=u;`:                                            {"u", "p"},
	} {
		m, err := parseJAAS(text)
		if err != nil || m["username"] != want[0] || m["password"] != want[1] {
			t.Errorf("%s: %q, %v", text, m, err)
		}
	}
	for _, text := range []string{"", ";", "PlainLoginModule required;", `PlainLoginModule required username="u" password="secret`, `PlainLoginModule required username="u" password="secret;`,
		`PlainLoginModule sufficient username="u" password="secret";`, `PlainLoginModule required username="u" secret;`} {
		if m, err := parseJAAS(text); err == nil {
			t.Errorf("%s: accepted as %q", text, m)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}
