package kafka

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"staunch/connector"
	"staunch/connector/connectortest"
	"staunch/fault"
	"staunch/metric"
	servers "staunch/test/peer"
)

var onlyValue = []connector.Column{valueColumn}

// TestRecreatedTopic: P6, a topic of the same name is not read in the place of the one that was deleted.
func TestRecreatedTopic(t *testing.T) {
	b := newBroker(t)
	recreatedTopic(t, b, "in")
}

func recreatedTopic(t *testing.T, b *broker, topic string) {
	b.topic(topic, 1)
	b.fill(topic, 0, 0, 10)
	s := b.source(onlyValue, "topic", topic)
	k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
	await(t, k, 10)
	splits, _, _ := k.Reader.Snapshot()
	if _, err := b.adm.DeleteTopic(context.Background(), topic); err != nil {
		t.Fatal(err)
	}
	for {
		_, err := b.adm.CreateTopic(context.Background(), 1, 1, nil, topic)
		if err == nil {
			break
		}
		if !strings.Contains(err.Error(), kerr.TopicAlreadyExists.Message) {
			t.Fatal(err)
		}
	}
	// the client of the test knows the old id
	b = &broker{t: t, fake: b.fake, addrs: b.addrs, cl: connectTo(t, b.addrs).cl, adm: b.adm}
	b.fill(topic, 0, 0, 20)
	t.Run("running", func(t *testing.T) {
		wantError(t, failure(t, k), fault.Lost, "'"+topic+"'", "created again", "offset 10")
	})
	t.Run("reader restored", func(t *testing.T) {
		wantError(t, failure(t, task(t, s, splits, nil)), fault.Lost, "'"+topic+"'", "created again", "offset 10")
	})
	t.Run("enumerator restored", func(t *testing.T) {
		ctx, _, _ := connectortest.NewContext(os.Stderr)
		e, err := s.Enumerate(ctx, []byte(`{"started":true}`))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		_, err = e.Discover(splits)
		wantError(t, err, fault.Lost, "'"+topic+"'", "created again", "offset 10")
	})
}

func TestDeletedTopic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newVirtual(t, kfake.NumBrokers(2), kfake.Ports(9092, 9093))
		b.topic("in", 1)
		b.fill("in", 0, 0, 10)
		s := b.source(onlyValue, "topic", "in")
		k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
		k.Limit = 2 * time.Minute
		await(t, k, 10)
		if err := b.fake.DeleteTopic("in"); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		wantError(t, failure(t, k), fault.Lost, "'in'", "partition 0", "deleted", "offsets from 10")
		if after := time.Since(begin); after < time.Minute || after > 70*time.Second {
			t.Errorf("after %s, want properties.default.api.timeout.ms", after)
		}
		k.Close()
	})
}

// TestDiscovery is case-13: partitions found later are read from their start, whatever the start mode.
func TestDiscovery(t *testing.T) {
	b := newBroker(t)
	b.topic("in-1", 1)
	b.topic("other", 1)
	b.fill("in-1", 0, 0, 5)
	s := b.source(onlyValue, "topic-pattern", "in-[0-9]+", "scan.startup.mode", "latest-offset")
	ctx, _, _ := connectortest.NewContext(os.Stderr)
	e, err := s.Enumerate(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if e.Interval() != 5*time.Minute {
		t.Errorf("interval %s", e.Interval())
	}
	known, err := e.Discover(nil)
	if err != nil || len(known) != 1 || known[0].Position != 5 {
		t.Fatal(known, err)
	}
	k := task(t, s, known, nil)
	if _, err := b.adm.UpdatePartitions(context.Background(), 3, "in-1"); err != nil {
		t.Fatal(err)
	}
	b.topic("in-22", 1)
	w := connectTo(t, b.addrs)
	w.fill("in-1", 2, 0, 7)
	w.fill("in-22", 0, 0, 3)
	state, _ := e.Snapshot()
	for name, find := range map[string]func() ([]connector.Split, error){
		"running":  func() ([]connector.Split, error) { return e.Discover(known) },
		"restored": func() ([]connector.Split, error) { return connectortest.Discover(t, s, state, known), nil },
	} {
		found, err := find()
		var ids []string
		for _, f := range found {
			ids = append(ids, fmt.Sprint(f.ID, "@", f.Position))
		}
		if want := []string{"in-1-1@0", "in-1-2@0", "in-22-0@0"}; err != nil || !slices.Equal(ids, want) {
			t.Fatalf("%s: found %v, want %v; %v", name, ids, want, err)
		}
		if name == "running" {
			if err := k.Reader.AddSplits(found); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantRows(t, await(t, k, 10), append(texts(2, 0, 7), texts(0, 0, 3)...)...)
}

func TestNoSuchTopic(t *testing.T) {
	b := newBroker(t)
	b.topic("orders", 1)
	wantError(t, discoverError(t, b.source(onlyValue, "topic", "orders;order")), fault.User, "'order'", "does not exist", b.addrs, "'orders'")
	wantError(t, discoverError(t, b.source(onlyValue, "topic-pattern", "x.*", "scan.bounded.mode", "latest-offset")), fault.User, "x.*")
}

func TestNoBroker(t *testing.T) {
	addr := servers.Refusing(t)
	s := newTestSource(t, onlyValue, "properties.bootstrap.servers", addr, "topic", "in", "properties.default.api.timeout.ms", "1000")
	wantError(t, discoverError(t, s), fault.Outage, addr, "within 1s", "refused", "table src")
}

// TestBrokerRestart: the broker goes away while the job runs and comes back; nothing but a warning in ten seconds comes of it.
func TestBrokerRestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		b := newVirtual(t, kfake.NumBrokers(1), kfake.DataDir(dir), kfake.Ports(9092))
		b.topic("in", 2)
		b.fill("in", 0, 0, 10)
		log := &syncBuffer{}
		s := b.source(onlyValue, "topic", "in")
		k := task(t, s, connectortest.Discover(t, s, nil, nil), log)
		await(t, k, 10)
		b.fake.Close()
		for range 600 {
			time.Sleep(100 * time.Millisecond)
			if batch, status, err := k.Poll(); err != nil || status != connector.Waiting || batch.Rows != 0 {
				t.Fatal(batch.Rows, status, err)
			}
		}
		if n := strings.Count(log.String(), "level=WARN"); n < 5 || n > 7 {
			t.Errorf("%d warnings in a minute, want one in ten seconds:\n%s", n, log)
		}
		failures := 0.0
		k.Metrics.Each(func(m metric.Sample) {
			if m.Name == "KafkaSourceReader.fetchFailures" {
				failures = m.Value
			}
		})
		if failures < 30 || failures > 200 {
			t.Errorf("%v failures in a minute: it should be tried about once a second", failures)
		}
		again, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.DataDir(dir), kfake.Ports(9092), kfake.ListenFn(b.net.Listen))
		if err != nil {
			t.Fatal(err)
		}
		defer again.Close()
		w := b.client()
		w.fill("in", 1, 0, 10)
		w.fill("in", 0, 10, 20)
		wantRows(t, await(t, k, 20), append(texts(1, 0, 10), texts(0, 10, 20)...)...)
		k.Close()
	})
}

// TestLeaderMoves: partitions change their leaders while they are read.
func TestLeaderMoves(t *testing.T) {
	b := newBroker(t, kfake.NumBrokers(3))
	b.topic("in", 3)
	s := b.source(onlyValue, "topic", "in")
	k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
	for round := range 5 {
		w := connectTo(t, b.addrs)
		var want []string
		for p := range 3 {
			w.fill("in", int32(p), round*10, round*10+10)
			want = append(want, texts(p, round*10, round*10+10)...)
		}
		wantRows(t, await(t, k, 30), want...)
		b.fake.ShufflePartitionLeaders()
	}
}

func TestCommitted(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 2)
	b.fill("in", 0, 0, 10)
	for _, commit := range []string{"false", "true"} {
		s := b.source(onlyValue, "topic", "in", "properties.group.id", "g", "properties.commit.offsets.on.checkpoint", commit)
		ctx, _, metrics := connectortest.NewContext(os.Stderr)
		e, err := s.Enumerate(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		splits, err := e.Discover(nil)
		if err != nil {
			t.Fatal(err)
		}
		splits[0].Position = 7
		if err := e.Committed(splits); err != nil {
			t.Fatal(err)
		}
		got, err := b.adm.FetchOffsets(context.Background(), "g")
		o, ok := got.Lookup("in", 0)
		if commit == "false" && err == nil && ok && o.At >= 0 {
			t.Errorf("committed %+v without being asked", o)
		}
		if commit == "true" && (err != nil || o.At != 7) {
			t.Errorf("committed %+v, %v", o, err)
		}
		metrics.Each(func(m metric.Sample) {
			if strings.HasSuffix(m.Name, "committedOffset") && m.Labels[1].Value == "0" && m.Value != 7 {
				t.Errorf("%+v", m)
			}
		})
	}
	t.Run("no broker", func(t *testing.T) {
		log := &syncBuffer{}
		s := b.source(onlyValue, "topic", "in", "properties.group.id", "g")
		ctx, _, metrics := connectortest.NewContext(log)
		e, err := s.Enumerate(ctx, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer e.Close()
		splits, err := e.Discover(nil)
		if err != nil {
			t.Fatal(err)
		}
		b.fake.Close()
		if err := e.Committed(splits); err != nil {
			t.Errorf("a commit that fails is an error: %v", err)
		}
		failed := 0.0
		metrics.Each(func(m metric.Sample) {
			if m.Name == "KafkaSourceReader.commitsFailed" {
				failed = m.Value
			}
		})
		if failed != 1 || !strings.Contains(log.String(), "level=WARN") {
			t.Errorf("commitsFailed %v, log %s", failed, log)
		}
	})
}

// TestMemoryIsBounded is P9: while nobody polls, no more is held than the limit.
func TestMemoryIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newVirtual(t, kfake.NumBrokers(2), kfake.Ports(9092, 9093))
		b.topic("in", 4)
		value := strings.Repeat("x", 10_000)
		for range 30 { // batches of 100 kB
			for p := range int32(4) {
				var rs []*kgo.Record
				for range 10 {
					rs = append(rs, rec("in", p, value))
				}
				if err := b.cl.ProduceSync(context.Background(), rs...).FirstErr(); err != nil {
					t.Fatal(err)
				}
			}
		}
		const limit = 400_000
		s := b.source(onlyValue, "topic", "in", "scan.bounded.mode", "latest-offset", "properties.fetch.max.bytes", "400000", "properties.max.partition.fetch.bytes", "100000")
		k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
		f := k.Reader.(*reader).f
		most, rows := int64(0), 0
		for status := connector.More; status != connector.Ended; {
			time.Sleep(time.Minute) // however long nobody reads
			synctest.Wait()
			held := int64(0)
			f.mu.Lock()
			for _, l := range f.leaders {
				held += l.held
			}
			f.mu.Unlock()
			most = max(most, held)
			batch, now, err := k.Next()
			if err != nil {
				t.Fatal(err)
			}
			rows, status = rows+batch.Rows, now
		}
		if rows != 1200 || most > 2*limit || most < limit/2 {
			t.Errorf("%d rows, at most %d bytes held, the limit is twice %d", rows, most, limit)
		}
		for _, l := range f.leaders {
			if l.held != 0 {
				t.Errorf("%d bytes held at the end", l.held)
			}
		}
		k.Close()
	})
}

// TestHugeRecord is case-23 for the source: a record larger than any limit is read.
func TestHugeRecord(t *testing.T) {
	b := newBroker(t, kfake.BrokerConfigs(map[string]string{"message.max.bytes": "20000000"}))
	b.topic("in", 2)
	w := connectTo(t, b.addrs, kgo.ProducerBatchMaxBytes(20_000_000))
	huge := strings.Repeat("x", 12<<20)
	w.produce(rec("in", 0, huge), rec("in", 0, "small"), rec("in", 1, huge))
	s := b.source(onlyValue, "topic", "in", "scan.bounded.mode", "latest-offset", "properties.fetch.max.bytes", "65536", "properties.max.partition.fetch.bytes", "65536")
	got := readTexts(t, task(t, s, connectortest.Discover(t, s, nil, nil), nil))
	if !slices.Equal(got, []string{"small", huge, huge}) {
		t.Errorf("%d rows", len(got))
	}
}

// TestDamagedBatch: a batch whose checksum is wrong ends the job and names the place.
func TestDamagedBatch(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 1)
	b.fill("in", 0, 0, 3)
	s := b.source(onlyValue, "topic", "in")
	k := task(t, s, connectortest.Discover(t, s, nil, nil), nil)
	r := k.Reader.(*reader)
	await(t, k, 3)
	batch := make([]byte, batchHeader+10)
	batch[7], batch[11], batch[atMagic] = 3, batchHeader+10-lengthBehind, 2
	r.f.mu.Lock()
	r.f.push(&chunk{p: r.parts[0], batchReader: batchReader{rest: batch}})
	r.f.mu.Unlock()
	wantError(t, failure(t, k), fault.Damage, "'in'", "partition 0", "offset 3", "checksum")
}

// TestBatchReaderDamage feeds cut and changed batches: errors, never a panic.
func TestBatchReaderDamage(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 1)
	b.fill("in", 0, 0, 20)
	req := kmsg.NewPtrFetchRequest()
	req.MaxBytes, req.SessionEpoch = 1<<20, -1
	topics, err := b.adm.ListTopics(context.Background(), "in")
	if err != nil {
		t.Fatal(err)
	}
	rt := kmsg.NewFetchRequestTopic()
	rt.TopicID = topics["in"].ID
	rp := kmsg.NewFetchRequestTopicPartition()
	rp.PartitionMaxBytes = 1 << 20
	rt.Partitions = append(rt.Partitions, rp)
	req.Topics = append(req.Topics, rt)
	resp, err := b.cl.Broker(int(topics["in"].Partitions[0].Leader)).Request(context.Background(), req)
	if err != nil {
		t.Fatal(err)
	}
	good := resp.(*kmsg.FetchResponse).Topics[0].Partitions[0].RecordBatches
	read := func(buf []byte) (n int, err error) {
		c := batchReader{rest: buf, inflate: testInflater(t)}
		var r record
		for {
			kind, err := c.read(&r)
			if err != nil || kind == foundNothing {
				return n, err
			}
			if kind == foundRecord {
				n++
			}
		}
	}
	if n, err := read(good); n != 20 || err != nil {
		t.Fatal(n, err)
	}
	for cut := range len(good) {
		if _, err := read(good[:cut]); err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		behind(good[:cut], 0)
	}
	n, whole := span(good)
	if !whole {
		t.Fatal("no batch")
	}
	for at := range n {
		for _, change := range []byte{0x01, 0x80, 0xff} {
			bad := slices.Clone(good)
			bad[at] ^= change
			behind(bad, 0)
			lastEpoch(bad, 0)
			rows, err := read(bad)
			if err == nil && rows == 20 && at > atCRC {
				t.Errorf("byte %d changed by %x: not noticed", at, change)
			}
		}
	}
}

func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "broker"}, NotBefore: time.Now().Add(-time.Hour),
		NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.ParseIP("127.0.0.1")}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	store := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	file := filepath.Join(t.TempDir(), "store.pem")
	if err := os.WriteFile(file, store, 0o600); err != nil {
		t.Fatal(err)
	}
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "in"), kfake.TLS(&tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(store)
	b := connectTo(t, fake.ListenAddrs()[0], kgo.DialTLSConfig(&tls.Config{RootCAs: roots}))
	b.fill("in", 0, 0, 10)
	for name, kv := range map[string][]string{
		"location":     {"properties.ssl.truststore.location", file, "properties.ssl.truststore.type", "PEM"},
		"certificates": {"properties.ssl.truststore.certificates", string(store)},
		"no host name": {"properties.ssl.truststore.location", file, "properties.ssl.endpoint.identification.algorithm", " "},
	} {
		t.Run(name, func(t *testing.T) {
			s := b.source(onlyValue, append(kv, "topic", "in", "scan.bounded.mode", "latest-offset", "properties.security.protocol", "SSL")...)
			wantRows(t, readTexts(t, task(t, s, connectortest.Discover(t, s, nil, nil), nil)), texts(0, 0, 10)...)
		})
	}
	t.Run("unknown authority", func(t *testing.T) {
		for _, host := range []string{"x", " "} {
			s := b.source(onlyValue, "topic", "in", "properties.security.protocol", "SSL", // it does not wait
				"properties.ssl.endpoint.identification.algorithm", host)
			wantError(t, discoverError(t, s), fault.User, b.addrs, "certificate")
		}
	})
	t.Run("plain", func(t *testing.T) {
		s := b.source(onlyValue, "topic", "in", "properties.default.api.timeout.ms", "500")
		wantError(t, discoverError(t, s), fault.Outage, b.addrs)
	})
}

func TestAssign(t *testing.T) {
	// hash codes as Java's String.hashCode gives them: "" 0, "events" -1291329255, "ünï-😀" by UTF-16 units
	for text, want := range map[string]int32{"": 0, "events": -1291329255, "a": 97, "\U0001F600": 1772899} {
		if got := hashCode(text); got != want {
			t.Errorf("hashCode(%q) = %d, want %d", text, got, want)
		}
	}
	seen := map[int]int{}
	for p := range int32(8) {
		seen[assign("events", p, 4)]++
	}
	for i := range 4 {
		if seen[i] != 2 {
			t.Errorf("assignment %v is not even", seen)
		}
	}
	start := int32(-1291329255)
	start = start * 31 & 0x7fffffff
	if got := assign("events", 3, 4); got != (int(start)%4+3)%4 {
		t.Errorf("assign: %d", got)
	}
}

func TestDamagedState(t *testing.T) {
	b := newBroker(t)
	s := b.source(onlyValue, "topic", "in")
	for _, state := range []string{"", "{", `{"topic":"x","partition":0}`, `{"topic":"in","partition":0,"topicId":"!"}`} {
		ctx, _, _ := connectortest.NewContext(os.Stderr)
		_, err := s.NewReader(ctx, []connector.Split{{ID: "in-0", State: json.RawMessage(state)}})
		wantError(t, err, fault.Damage, "in-0")
	}
}

// TestRetentionBeforeTheFirstRead: a partition that starts at its earliest offset goes on where that has moved to.
func TestRetentionBeforeTheFirstRead(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 1)
	b.fill("in", 0, 0, 100)
	s := b.source(onlyValue, "topic", "in", "scan.bounded.mode", "latest-offset")
	splits := connectortest.Discover(t, s, nil, nil)
	before := kadm.Offsets{}
	before.AddOffset("in", 0, 40, -1)
	if _, err := b.adm.DeleteRecords(context.Background(), before); err != nil {
		t.Fatal(err)
	}
	k := task(t, s, splits, nil)
	wantRows(t, readTexts(t, k), texts(0, 40, 100)...)
	_, ranges, _ := k.Reader.Snapshot()
	if r := ranges[0]; r.Skipped != 40 || r.Rows() != 60 {
		t.Errorf("%+v", r)
	}
}

func TestSASL(t *testing.T) {
	for _, mechanism := range []string{"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"} {
		t.Run(mechanism, func(t *testing.T) {
			fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "in"), kfake.EnableSASL(), kfake.Superuser(mechanism, "me", "pass word"))
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(fake.Close)
			module := "ScramLoginModule"
			if mechanism == "PLAIN" {
				module = "PlainLoginModule"
			}
			source := func(password string, kv ...string) *source {
				return newTestSource(t, onlyValue, append(kv, "topic", "in", "properties.bootstrap.servers", fake.ListenAddrs()[0], "scan.bounded.mode", "latest-offset",
					"properties.security.protocol", "SASL_PLAINTEXT", "properties.sasl.mechanism", mechanism,
					"properties.sasl.jaas.config", "a.b."+module+` required username="me" password="`+password+`";`)...)
			}
			s := source("pass word")
			b := connectTo(t, fake.ListenAddrs()[0], s.opts...)
			b.fill("in", 0, 0, 10)
			wantRows(t, readTexts(t, task(t, s, connectortest.Discover(t, s, nil, nil), nil)), texts(0, 0, 10)...)
			err = discoverError(t, source("wrong pass", "properties.default.api.timeout.ms", "2000"))
			// this broker closes the connection, where Kafka says SASL_AUTHENTICATION_FAILED, which is refused at once
			wantError(t, err, fault.Outage, fake.ListenAddrs()[0], "user and password")
			if strings.Contains(err.Error(), "wrong pass") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

// TestChangedBoundedness: a read that was bounded goes on without end, and not the other way round.
func TestChangedBoundedness(t *testing.T) {
	b := newBroker(t)
	b.topic("in", 1)
	b.fill("in", 0, 0, 10)
	bounded := b.source(onlyValue, "topic", "in", "scan.bounded.mode", "latest-offset")
	k := task(t, bounded, connectortest.Discover(t, bounded, nil, nil), nil)
	readTexts(t, k)
	splits, _, _ := k.Reader.Snapshot()
	b.fill("in", 0, 10, 20)
	unbounded := b.source(onlyValue, "topic", "in")
	k = task(t, unbounded, splits, nil)
	wantRows(t, await(t, k, 10), texts(0, 10, 20)...)
	splits, _, _ = k.Reader.Snapshot()
	ctx, _, _ := connectortest.NewContext(os.Stderr)
	_, err := bounded.NewReader(ctx, splits)
	wantError(t, err, fault.User, "in-0", "scan.bounded.mode", "without end")
}
