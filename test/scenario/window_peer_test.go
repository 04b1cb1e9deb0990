//go:build peer

package scenario

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const looks = "staunch.loss-window.interval=200ms"

// old produces values into a partition, all with one time.
func (k *topic) old(partition int32, at time.Time, values ...string) {
	k.t.Helper()
	for _, v := range values { // a batch each
		r := &kgo.Record{Topic: k.name, Partition: partition, Timestamp: at, Value: []byte(v)}
		if err := k.cl.ProduceSync(context.Background(), r).FirstErr(); err != nil {
			k.t.Fatal(err)
		}
	}
}

// set changes a setting of the topic.
func (k *topic) set(name, value string) {
	k.t.Helper()
	until(k.t, name, nil, func() bool {
		r, err := k.adm.AlterTopicConfigs(context.Background(), []kadm.AlterConfig{{Op: kadm.SetConfig, Name: name, Value: &value}}, k.name)
		return err == nil && len(r) == 1 && r[0].Err == nil
	})
}

// slow lets the job's reader have so many bytes a second of the broker.
func (k *topic) slow(bytesPerSecond float64) {
	k.t.Helper()
	client := k.name + "-0"
	until(k.t, "a quota", nil, func() bool {
		r, err := k.adm.AlterClientQuotas(context.Background(), []kadm.AlterClientQuotaEntry{{
			Entity: kadm.ClientQuotaEntity{{Type: "client-id", Name: &client}},
			Ops:    []kadm.AlterClientQuotaOp{{Key: "consumer_byte_rate", Value: bytesPerSecond}}}})
		return err == nil && len(r) == 1 && r[0].Err == nil
	})
}

// next counts the visible rows of a partition, which is where the newest checkpoint goes on: rows are the offsets from 0 on.
func next(t *testing.T, table string, partition int64) (n int64) {
	t.Helper()
	for _, r := range rows(t, table) {
		if fmt.Sprint(r["part"]) == fmt.Sprint(partition) {
			n++
		}
	}
	return n
}

// TestLossWindow: a job that reads too slowly is overtaken by the topic's retention. The alarm comes first; then the job stops, and says exactly
// what is gone: all that was not committed.
func TestLossWindow(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 2, "retention.ms", "20000")
	k.slow(1000)
	const little = "'properties.max.partition.fetch.bytes'='2000'" // a batch at a time
	s := newScript(t, k.copyJob(little))
	p := s.start("-D", looks, "-D", "staunch.loss-window.alarm=0.7", "-D", "metrics.reporter.prom.port=30000-30999")
	m := p.metrics()
	until(t, "the window", p, func() bool { return m.sum("lossWindowSeconds") > 19 })
	if on := m.sum("lossWindowAlarm"); on != 0 {
		t.Errorf("the alarm is %v although nothing is behind", on)
	}
	at := time.Now()
	const each = 60
	for part := range int32(2) {
		var v []string
		for i := range each {
			v = append(v, fmt.Sprintf(`{"id":%d,"v":"%s","dt":"2024-01-01"}`, i, strings.Repeat("x", 2000)))
		}
		k.old(part, at, v...)
	}
	p.seen(s.path("lake"), 1)
	p.awaits("level=WARN", "loss window: offsets are about to leave the topic", k.name, "retention.ms = 20000", "are not committed", "kept=20s")
	if left := m.sum("lossWindowSeconds"); m.sum("lossWindowAlarm") != 1 || left > 14 {
		t.Errorf("alarm %v, %v seconds left", m.sum("lossWindowAlarm"), left)
	}
	p.exits(1)
	if early := 20*time.Second - time.Since(at); early > 0 {
		t.Errorf("offsets left the topic %v before the window's end", early)
	}
	text := p.text()
	if a, b := strings.Index(text, "about to leave"), strings.Index(text, "most likely by retention"); a < 0 || b < 0 || a > b {
		t.Errorf("alarm at %d, stop at %d:\n%s", a, b, text)
	}
	s.names(k, p, each, false)
	s.names(k, s.start().exits(1), each, true)
	s.program("check", s.file).exits(1).says("fail  loss window of table src", fmt.Sprint(s.lost(each)), "that no completed checkpoint has are gone", "properties.auto.offset.reset")

	lost := s.lost(each)
	s.edit(k.copyJob("'properties.auto.offset.reset'='earliest'"))
	k.slow(1e9)
	k.old(0, time.Now(), `{"id":1000,"v":"y","dt":"2024-01-01"}`)
	p = s.start()
	until(t, "the row behind the loss", p, func() bool { return strings.Contains(fmt.Sprint(ids(t, s.path("lake"))), "1000") })
	until(t, "the skipped offsets", p, func() bool { return s.account(s.path("lake"))["skipped"] == lost })
	p.stop()
	s.verified(s.path("lake"))
}

// lost is what of so many offsets of each of two partitions is not committed.
func (s *script) lost(each int64) int64 {
	return 2*each - next(s.t, s.path("lake"), 0) - next(s.t, s.path("lake"), 1)
}

// names wants a process that stopped to have named exactly the offsets that are not visible; all of them if every partition is gone.
func (s *script) names(k *topic, p *process, each int64, all bool) {
	s.t.Helper()
	named := int64(0)
	for part := range int64(2) {
		from := next(s.t, s.path("lake"), part)
		if strings.Contains(p.text(), fmt.Sprintf("%s-%d from %d to %d (%d)", k.name, part, from, each-1, each-from)) {
			named += each - from
		}
	}
	p.says(fmt.Sprintf("%d offsets that no completed checkpoint has are gone", named))
	if want := s.lost(each); named == 0 || all && named != want || named > want {
		s.t.Errorf("%d offsets are named, %d are gone:\n%s", named, want, p.shown())
	}
}

// TestLossWindowEases: records that are old when they come have little time; a longer retention gives it back. Without the job, check tells how
// long it may stay stopped.
func TestLossWindowEases(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 1, "retention.ms", "3600000")
	s := newScript(t, k.copyJob())
	p := s.start("-D", looks, "-D", "execution.checkpointing.interval=1h")
	p.awaits("checkpoint committed")
	k.old(0, time.Now().Add(-50*time.Minute), `{"id":0,"v":"x","dt":"2024-01-01"}`)
	p.awaits("level=WARN", "loss window: offsets are about to leave the topic", "offset 0 of "+k.name+"-0 may leave in ", "kept=1h")
	k.set("retention.ms", "36000000")
	p.awaits("level=INFO", "loss window: enough time is left again", "offset 0 of "+k.name+"-0 may leave in 9h")
	p.silent("level=ERROR")
	p.stop()
	s.program("check", s.file).exits(0).says("pass  loss window of table src", "everything is committed; what comes now stays 10h (retention.ms = 36000000); stopped now, the job may stay so until")
	k.old(0, time.Now().Add(-40*time.Minute), `{"id":1,"v":"x","dt":"2024-01-01"}`)
	s.program("check", "--output", "json", s.file).exits(0).says("offset 1 of "+k.name+"-0 may leave in 9h", "1 offsets are not committed", "stopped now", `"uncommitted_offsets": 1`, `"left_seconds": 33`, `"keeps_seconds": 36000`)
	k.set("retention.ms", "3000000")
	s.program("check", s.file).exits(0).says("warn  loss window of table src", "offset 1 of "+k.name+"-0 may leave in ", "50m are kept", "start the job, see what holds it back, or lengthen 'retention.ms' [loss-window]")
	k.set("retention.ms", "60000000")
	k.set("cleanup.policy", "compact")
	s.program("check", s.file).exits(0).says("pass  loss window of table src", "counted as gaps")
}

// TestLossWindowSize: a topic that is bounded by its size leaves as much time as it takes to fill it.
func TestLossWindowSize(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 1, "retention.bytes", "2097152", "segment.bytes", "1048576", "compression.type", "uncompressed")
	s := newScript(t, k.copyJob())
	p := s.start("-D", looks, "-D", "execution.checkpointing.interval=1h")
	p.awaits("checkpoint committed")
	for i := range 18 { // nine tenths of it
		k.old(0, time.Now(), fmt.Sprintf(`{"id":%d,"v":"%s","dt":"2024-01-01"}`, i, strings.Repeat("x", 100_000)))
	}
	p.awaits("level=WARN", "loss window: offsets are about to leave the topic", "offset 0 of "+k.name+"-0 may leave in about ", "(retention.bytes = 2097152 at ")
	k.set("retention.bytes", "209715200")
	p.awaits("level=INFO", "loss window: enough time is left again", "(retention.bytes = 209715200 at ")
	p.stop()
	s.program("check", s.file).exits(0).says("warn  loss window of table src", "everything is committed; what comes now stays about ", "lengthen 'retention.bytes'")
}

// TestLossWindowHeals: a job that has read what left the topic before it was committed needs no more than to go on.
func TestLossWindowHeals(t *testing.T) {
	t.Parallel()
	k := newTopic(t, 1)
	s := newScript(t, k.copyJob())
	k.fill(0, 0, 9)
	p := s.start()
	p.seen(s.path("lake"), 10)
	p.stop()
	p = s.start("-D", looks, "-D", "execution.checkpointing.interval=1h", "-D", "metrics.reporter.prom.port=30000-30999")
	m := p.metrics()
	k.fill(0, 10, 99)
	until(t, "ninety records", p, func() bool { return m.sum("numRecordsIn") == 90 })
	until(t, "the records' deletion", p, func() bool {
		o := kadm.Offsets{}
		o.Add(kadm.Offset{Topic: k.name, Partition: 0, At: 70})
		r, err := k.adm.DeleteRecords(context.Background(), o)
		return err == nil && r.Error() == nil
	})
	p.awaits("level=ERROR", "loss window: offsets that are not committed have left the topic", fmt.Sprintf("60 offsets that no completed checkpoint has are gone: %s-0 from 10 to 69 (60)", k.name))
	if left := m.sum("lossWindowSeconds"); left != 0 || m.sum("lossWindowAlarm") != 1 {
		t.Errorf("%v s left", left)
	}
	s.program("check", s.file).exits(1).says("fail  loss window of table src", "60 offsets that no completed checkpoint has are gone")
	p.stop()
	wantIDs(t, s.path("lake"), span(0, 99))
	s.program("check", s.file).exits(0).says("pass  loss window of table src")
	k.fill(0, 100, 109)
	p = s.start()
	p.seen(s.path("lake"), 110)
	p.stop()
	wantIDs(t, s.path("lake"), span(0, 109))
	s.verified(s.path("lake"))
}
