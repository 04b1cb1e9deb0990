package forecast

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// openTransaction is the longest that a broker lets a transaction stay open by default (transaction.max.timeout.ms).
const openTransaction = 15 * time.Minute

// zones is more than the zones of the world are apart: a TIMESTAMP without zone may be off by so much and mean what it should.
const zones = 15 * time.Hour

// slack is what clocks, disorder and, without a zone, zones may put event time and the records' times apart.
func (s *Source) slack() time.Duration {
	if s.WatermarkLTZ {
		return clockSlack
	}
	return zones
}

// clockSlack is how far clocks and disorder may put times apart before zones are suspected.
const clockSlack = 10 * time.Minute

// source looks at one source table.
func (j *judge) source(s *Source) {
	what := "source " + s.Table
	switch {
	case j.f.Settings.Bounded && !s.Surveyed: // a generator keeps to its rows-per-second
		j.add("no-forecast", Pass, what, "", "the job ends by itself, and it cannot be asked how much comes: there is no forecast of what the job does an hour")
	case j.f.Settings.Bounded:
		j.add("no-forecast", Pass, what, "", "the job ends by itself, as fast as it can: there is no forecast of what it does an hour")
	case !s.Surveyed && !s.Away && s.Connector != "":
		j.add("no-forecast", Pass, what, "", "it cannot be asked how much comes, so that there is no forecast")
	}
	j.splits(s, what)
	j.topics(s, what)
	if s.Surveyed && s.Connector == "kafka" && s.Discovery == 0 && !j.f.Settings.Bounded {
		j.add("discovery-off", Warn, what, "leave 'scan.topic-partition-discovery.interval' out, or set it above 0", "partitions that are added to the topic later are never read")
	}
	switch {
	case s.Reset == "latest":
		j.add("reset-skips", Warn, what, "leave 'properties.auto.offset.reset' out, or set it to earliest",
			"'properties.auto.offset.reset' = 'latest' lets the job go on at the end where a partition has no committed offset, or where retention took the one it stands at: what is before is skipped with a warning")
	case s.Reset == "earliest" && s.StartMode != "group-offsets":
		j.add("reset-skips", Warn, what, "leave 'properties.auto.offset.reset' out", "'properties.auto.offset.reset' = 'earliest' lets the job go on where retention took offsets that it had not read, instead of stopping with their count")
	}
	if s.Members > 0 {
		j.add("group-in-use", Warn, what, "set 'properties.group.id' to a group of this job alone",
			"group '%s' has %d running consumers: both commit offsets to it, so that lag tools and 'group-offsets' see sometimes the one and sometimes the other", s.Group, s.Members)
	}
	if s.IgnoreErrors {
		seen := ""
		if x := s.Sample; x != nil && x.Records > 0 {
			seen = fmt.Sprintf("; of %s recent records, %s", count(float64(x.Records)), count(float64(x.Rejected)))
		}
		j.add("ignore-errors", Warn, what, "leave '"+s.IgnoreKey+"' out, so that the first one stops the job", "records that do not parse are left out and only counted (numRecordsInErrors)%s", seen)
	}
	if x := s.Sample; x != nil {
		j.sample(s, x, what)
	}
}

// sample looks at what recent records were like.
func (j *judge) sample(s *Source, x *SourceSample, what string) {
	switch {
	case x.Error != "" && x.Fatal:
		j.add("bad-record", Fail, what, "correct the table or the query, then check again", "a recent record would end the job: %s", x.Error)
	case x.Error != "":
		j.add("sample", Warn, what, "check again when it answers, or leave the sample out with --sample 0", "recent records could not be read to the end: %s", x.Error)
	}
	if ahead := x.Event.Sub(x.NewestRecord); !x.Event.IsZero() && !x.NewestRecord.IsZero() && ahead > s.slack() {
		j.add("event-ahead", Warn, what, "read the column in the zone in which it was written, for instance as TIMESTAMP_LTZ with the right 'table.local-time-zone'",
			"the watermark is %s ahead of the time at which the records were written: the column holds local time of another zone, or the producer's clock is wrong", span(ahead))
	}
	n := float64(max(1, j.f.Settings.Parallelism))
	if rate := s.rate(); x.PerSecond > 0 && rate > 0.8*x.PerSecond*n {
		j.add("throughput", Warn, what, "raise 'parallelism.default' up to the number of partitions, or read fewer columns",
			"%s records a second come and about %s can be read with a parallelism of %d: a backlog would never end", count(rate), count(x.PerSecond*n), int(n))
	}
}

// splits looks at partitions and who reads them.
func (j *judge) splits(s *Source, what string) {
	if !s.Surveyed || len(s.Splits) == 0 {
		return
	}
	par := max(1, j.f.Settings.Parallelism)
	has := make([]int, par)
	for _, p := range s.Splits {
		if p.Subtask >= 0 && p.Subtask < par {
			has[p.Subtask]++
		}
	}
	idle := 0
	for _, n := range has {
		if n == 0 {
			idle++
		}
	}
	switch total := s.rate(); {
	case idle > 0:
		j.add("parallelism-above-partitions", Warn, what, "lower 'parallelism.default'", "%d of %d subtasks have none of the %d partitions and stand idle", idle, par, len(s.Splits))
	case par > 1 && total > 0:
		at, most := 0, 0.0
		for k := range par {
			if r := s.taskRate(k); r > most {
				at, most = k, r
			}
		}
		if most > 2*total/float64(par) && most-total/float64(par) > 1 {
			j.add("skew", Warn, what, "choose 'parallelism.default' so that it divides the number of partitions, or spread the keys of the topic",
				"subtask %d gets %s of %s records a second: it decides when a checkpoint is complete", at, count(most), count(total))
		}
	}
	for _, p := range s.Splits {
		if p.Stuck > 0 && s.ReadCommitted && !p.Newest.IsZero() && j.f.Now.Sub(p.Newest) > openTransaction {
			j.add("transaction-open", Fail, what, "end the transaction: kafka-transactions.sh find-hanging, then abort",
				"%d records of %s stand behind a transaction that is open for more than %s: with read_committed nothing of them is read", p.Stuck, p.ID, span(openTransaction))
		}
	}
	if s.rate() == 0 && !j.f.Settings.Bounded {
		j.add("no-rate", Pass, what, "", "no record came in the last %s, so that there is no forecast; say what to expect with --rate", span(s.RateOver))
	}
}

// topics looks at what the broker says of the topics.
func (j *judge) topics(s *Source, what string) {
	for _, t := range s.Topics {
		if t.Transactional && !s.ReadCommitted {
			j.add("isolation", Fail, what, "set 'properties.isolation.level' = 'read_committed'", "topic %s is written in transactions: without read_committed also records of those that were aborted become rows", t.Name)
		}
		if strings.Contains(t.Cleanup, "compact") {
			j.add("compacted", Warn, what, "read a topic with cleanup.policy = delete", "topic %s is compacted: older records of a key are gone once the broker comes round, read or not", t.Name)
		}
		if t.Unclean {
			j.add("unclean-election", Warn, what, "set unclean.leader.election.enable = false on the topic", "topic %s may get a leader that lacks acknowledged records", t.Name)
		}
		switch {
		case t.Replicas == 1:
			j.add("one-replica", Warn, what, "give the topic three replicas", "topic %s has one copy: a broker's disk takes unread records with it", t.Name)
		case t.Replicas > 1 && t.MinInSync == 1:
			j.add("min-insync", Warn, what, "set min.insync.replicas = 2 on the topic", "topic %s has %d copies, and a record is acknowledged when one has it", t.Name, t.Replicas)
		}
	}
}

// groups looks for tables of one file that use one consumer group for the same topic.
func (j *judge) groups() {
	for i := range j.f.Sources {
		s := &j.f.Sources[i]
		if s.Group != "" && len(s.Others) > 0 {
			j.add("group-shared", Warn, "source "+s.Table, "give each job a 'properties.group.id' of its own", "group '%s' is also the one of %s: the offsets in it are now the one's and now the other's", s.Group, strings.Join(s.Others, ", "))
		}
	}
}

// longEnough is how long a partition has to be without records to count as one that gets none.
const longEnough = 5 * time.Minute

// idleSplits are partitions without a record in the time that was looked at, while others have some.
func (s *Source) idleSplits() (ids []string) {
	if s.rate() == 0 || s.RateGiven || s.RateOver < longEnough {
		return nil
	}
	for _, p := range s.Splits {
		if p.Rate == 0 {
			ids = append(ids, p.ID)
		}
	}
	slices.Sort(ids)
	return ids
}
