package audit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"staunch/account"
	"staunch/connector"
	"staunch/fault"
)

// Broker is what a table's accounts are held against.
type Broker struct {
	connector.Inspector
	// Isolation is the job's isolation level, "read_committed" or "read_uncommitted": whether records of aborted transactions are rows. "" if it is not
	// known, and then they may be either.
	Isolation string
	// Unread says why there may be partitions that no job has an account of; empty if the jobs find all partitions, or if that is not known.
	Unread string
	// window is how many offsets' contents are held in memory at once; one certificate may have more. 0 means 4 Mi.
	window int64
}

// Topic says how the accounts of one source split compare with what its topic has now.
type Topic struct {
	Split string `json:"split"`
	// First <= o < End are the offsets that the topic has.
	First int64 `json:"first"`
	End   int64 `json:"end"`
	// Compared offsets, of all INSERTs, were looked at.
	Compared int64 `json:"compared"`
	// Gone offsets are before First: nothing can be said of them any more.
	Gone int64 `json:"gone,omitempty"`
	// Removed records are in files, but not in the topic any more (compaction).
	Removed int64 `json:"removed,omitempty"`
	// Records, Null, Markers, Aborted and Absent are what stands at the offsets that no file holds.
	Records int64 `json:"records"`
	Null    int64 `json:"null"`
	Markers int64 `json:"markers"`
	Aborted int64 `json:"aborted"`
	Absent  int64 `json:"absent"`
	// Behind is how many offsets the topic has that the table has not come to.
	Behind int64 `json:"behind"`
}

// claimed is what one certificate says of one split and INSERT.
type claimed struct {
	checkpoint account.CheckpointID
	n          int64
	account.Range
	// pieces are the offsets in files, ascending; file is the index in files.
	pieces []piece
	files  []string
	closes bool
}

// stretch are offsets with one content.
type stretch struct {
	from, to int64
	what     connector.Content
}

// comparison holds the certificates of one log against the topics.
type comparison struct {
	t      *table
	j      *judge
	broker *Broker
	// ranges of each topic, by partition; nil if the topic cannot be asked.
	ranges map[string]map[int32]connector.PartitionRange
	topics map[string]*Topic // by split
	// away: no broker answered within its patience; it is not asked again.
	away error
	// unknown are the splits that were reported, anew those whose topic was made anew since an account.
	unknown, anew map[string]bool
	// known are the splits that there are accounts of, be they of no offset.
	known map[string]bool
	// held are the claims of the window, by split.
	held  map[string][]*claimed
	count int64
	err   error
}

// compare holds all logs against the topics.
func (t *table) compare(b *Broker) error {
	known, topics := map[string]bool{}, map[string]map[int32]connector.PartitionRange{}
	for _, l := range t.logs {
		c, err := t.against(l, b)
		if err != nil {
			return err
		}
		if c.away != nil {
			return nil // it was reported
		}
		maps.Copy(known, c.known)
		maps.Copy(topics, c.ranges)
	}
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		for _, p := range slices.Sorted(maps.Keys(topics[name])) {
			if split := fmt.Sprintf("%s-%d", name, p); !known[split] {
				if err := t.absent(b, name, split, topics[name][p]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// absent judges a partition that no job has an account of: jobs account for every partition that they found, also if nothing was read of it.
func (t *table) absent(b *Broker, topic, split string, r connector.PartitionRange) error {
	records, step := account.Set{}, cmp.Or(b.window, 4<<20)
	for from := r.First; from < r.Decided && len(records.Runs) == 0; from += step {
		err := b.Look(t.ctx, topic, r.Partition, from, min(from+step, r.Decided), func(from, to int64, what connector.Content) {
			if what == connector.Record || what == connector.Aborted && b.Isolation == "read_uncommitted" {
				records.Runs = append(records.Runs, account.Run{From: from, To: to})
			}
		})
		if cerr := t.ctx.Err(); cerr != nil {
			return cerr
		}
		if err != nil {
			t.rep.problem(Problem{Kind: TopicUnknown, What: fmt.Sprintf("%s: no job has an account of it, and what it holds could not be read: %v", split, err), ToDo: "audit again when the broker answers"})
			return nil
		}
	}
	switch {
	case len(records.Runs) > 0 && b.Unread == "":
		t.rep.problem(Problem{Kind: PartitionAbsent, Offsets: []SplitOffsets{{split, records.Text(), records.Count()}},
			What: fmt.Sprintf("the topic has records of %s, up to offset %s, and no job has an account of it: it was never found, and none of its rows is there", split, account.Number(r.Decided-1)),
			ToDo: "if the partition is newer than the last checkpoint, audit again after the next one; else see whether the job looks for new partitions: staunch audit FILE.sql takes its settings into account"})
	case len(records.Runs) > 0:
		t.rep.Notes = append(t.rep.Notes, fmt.Sprintf("%s: the topic has records of it, from offset %s on, and no job has an account of it; of a source, %s", split, account.Number(records.Runs[0].From), b.Unread))
	case r.First > 0:
		t.rep.Notes = append(t.rep.Notes, fmt.Sprintf("%s: no job has an account of it, and the topic begins at offset %s: what stood there can no longer be known", split, account.Number(r.First)))
	}
	return nil
}

// against compares all that a log certifies with the topics. It reads the log once more.
func (t *table) against(l *jobLog, b *Broker) (*comparison, error) {
	c := &comparison{t: t, j: l.judge, broker: b, ranges: map[string]map[int32]connector.PartitionRange{}, topics: map[string]*Topic{}, unknown: map[string]bool{},
		anew: map[string]bool{}, known: map[string]bool{}, held: map[string][]*claimed{}}
	h := &history{ctx: t.ctx, store: t.store, dir: l.history.dir, limit: l.history.limit, visit: c.visit}
	if err := h.read(); err != nil {
		return nil, err
	}
	c.flush()
	c.nothing()
	for _, split := range slices.Sorted(maps.Keys(c.topics)) {
		l.judge.rep.Topics = append(l.judge.rep.Topics, *c.topics[split])
	}
	return c, c.err
}

// visit takes one entry in.
func (c *comparison) visit(it item) {
	if c.err != nil || it.entry == nil || it.entry.Kind != account.KindCertificate || c.j.past.superseded(it.entry.SHA256) {
		return // what is damaged was reported
	}
	var cert account.Certificate
	if json.Unmarshal(it.entry.Body, &cert) != nil {
		return
	}
	byKey := map[key]*claimed{}
	for _, r := range cert.Ranges {
		k := key{r.Split, r.Insert}
		c.known[r.Split] = true
		if r.From >= r.To || r.From < 0 {
			continue
		}
		if old := byKey[k]; old != nil && old.Join(r) == nil {
			continue
		}
		byKey[k] = &claimed{checkpoint: cert.Checkpoint, n: it.n, Range: r, closes: cert.AccountsClose}
		c.held[r.Split] = append(c.held[r.Split], byKey[k])
		c.count += r.To - r.From
	}
	for i := range cert.Files {
		f := &cert.Files[i]
		for _, o := range f.Offsets {
			k := byKey[key{o.Split, f.Insert}]
			if k == nil {
				continue // outside the checkpoint's ranges, which was reported
			}
			k.files = append(k.files, f.Final)
			for _, r := range o.Set.Runs {
				k.pieces = append(k.pieces, piece{r, len(k.files) - 1})
			}
		}
	}
	if c.count >= cmp.Or(c.broker.window, 4<<20) {
		c.flush()
	}
}

// flush compares what is held.
func (c *comparison) flush() {
	for _, split := range slices.Sorted(maps.Keys(c.held)) {
		if c.err == nil {
			c.split(split, c.held[split])
		}
	}
	clear(c.held)
	c.count = 0
}

// topicOf gives topic and partition of a split, ok false if it is none of Kafka's.
func topicOf(split string) (topic string, partition int32, ok bool) {
	at := strings.LastIndexByte(split, '-')
	if at <= 0 {
		return "", 0, false
	}
	n, err := strconv.ParseInt(split[at+1:], 10, 32)
	return split[:at], int32(n), err == nil && n >= 0
}

// topic asks for the partitions of a topic, once.
func (c *comparison) topic(name string) (map[int32]connector.PartitionRange, error) {
	if known, ok := c.ranges[name]; ok {
		return known, nil
	}
	list, err := c.broker.Ranges(c.t.ctx, name)
	if err != nil {
		return nil, err
	}
	known := map[int32]connector.PartitionRange{}
	for _, r := range list {
		known[r.Partition] = r
	}
	c.ranges[name] = known
	return known, nil
}

// What is to be done where a split cannot be compared.
const (
	whenAgain = "audit again when the broker answers"
	whichOne  = "name the brokers and the topic that the job read"
	whichRead = "see what answers there, and whether the brokers are sound"
	tooOld    = "what the topic has no more can no longer be compared: audit against the broker more often than its retention"
)

// cannot reports, once, that nothing can be said of a split.
func (c *comparison) cannot(split, toDo, format string, args ...any) {
	if c.unknown[split] {
		return
	}
	c.unknown[split] = true
	c.j.rep.problem(Problem{Kind: TopicUnknown, What: split + ": the table cannot be compared with the topic: " + fmt.Sprintf(format, args...), Path: c.j.rep.Log,
		ToDo: toDo + "; without --against-broker the audit says what the table alone proves"})
}

// split compares one split's accounts of the window.
func (c *comparison) split(split string, list []*claimed) {
	name, partition, ok := topicOf(split)
	if !ok {
		c.cannot(split, whichOne, "the name is not that of a topic and a partition")
		return
	}
	if c.unknown[split] {
		return
	}
	if c.away != nil {
		c.cannot(split, whenAgain, "%v", c.away)
		return
	}
	parts, err := c.topic(name)
	if err != nil {
		c.failed(split, err)
		return
	}
	have, ok := parts[partition]
	if !ok {
		c.cannot(split, whichOne, "the topic has no partition %d", partition)
		return
	}
	if list = c.same(split, list, have); len(list) == 0 {
		return
	}
	sum := c.topics[split]
	if sum == nil {
		sum = &Topic{Split: split, First: have.First, End: have.End, Behind: max(0, have.End-c.j.next[key{split, list[0].Insert}])}
		c.topics[split] = sum
	}
	from, to := int64(math.MaxInt64), int64(0)
	for _, k := range list {
		from, to = min(from, k.From), max(to, k.To)
	}
	var contents []stretch
	err = c.broker.Look(c.t.ctx, name, partition, from, to, func(from, to int64, what connector.Content) {
		contents = append(contents, stretch{from, to, what})
	})
	if err != nil {
		c.failed(split, err)
		return
	}
	for _, k := range list {
		c.claim(k, contents, sum)
	}
}

// idOf gives the id in an origin, "topic-id ID"; empty if there is none, as on clusters that give topics no ids.
func idOf(origin string) string {
	_, id, _ := strings.Cut(origin, " ")
	return id
}

// same gives the accounts of the topic that is there now. Those of one that stood under its name before are reported, once.
func (c *comparison) same(split string, list []*claimed, have connector.PartitionRange) []*claimed {
	return slices.DeleteFunc(list, func(k *claimed) bool {
		then, now := idOf(k.Origin), idOf(have.Origin)
		if then == "" || now == "" || then == now {
			return false
		}
		if !c.anew[split] {
			c.anew[split] = true
			c.j.rep.problem(Problem{Kind: TopicUnknown, Path: c.j.rep.Log, Checkpoint: k.checkpoint, What: fmt.Sprintf("%s: the accounts of checkpoint %d are of another topic than the one that has the name now "+
				"(id %s, now %s): it was deleted and made anew, and they cannot be compared", split, k.checkpoint, then, now),
				ToDo: "what the old topic held can no longer be known; the table alone is judged without --against-broker"})
		}
		return true
	})
}

// failed tells what the broker's error means: a topic that is not there and brokers that do not answer are findings, the end of the program is none.
func (c *comparison) failed(split string, err error) {
	if cerr := c.t.ctx.Err(); cerr != nil {
		c.err = cerr
		return
	}
	switch fault.ClassOf(err) {
	case fault.Outage:
		c.away = err
		c.cannot(split, whenAgain, "%v", err)
	case fault.Damage:
		c.cannot(split, whichRead, "what the broker gives cannot be read: %v", err)
	default:
		c.cannot(split, whichOne, "%v", err)
	}
}

// counts of offsets by their content.
type counts [connector.Beyond + 1]int64

// each walks the offsets from <= o < to, in files and out of them, and says what stands there. pieces and contents are ascending.
func each(from, to int64, pieces []piece, contents []stretch, visit func(from, to int64, what connector.Content, file int)) {
	p, s := 0, 0
	for at := from; at < to; {
		for p < len(pieces) && pieces[p].To <= at {
			p++
		}
		for s < len(contents) && contents[s].to <= at {
			s++
		}
		if s == len(contents) || contents[s].from > at {
			return // no content; the caller sees that it does not come to the end
		}
		end, file := min(to, contents[s].to), -1
		if p < len(pieces) {
			if pieces[p].From <= at {
				end, file = min(end, pieces[p].To), pieces[p].file
			} else {
				end = min(end, pieces[p].From)
			}
		}
		visit(at, end, contents[s].what, file)
		at = end
	}
}

// claim compares one account. Offsets in files must have records; at the others no more may stand than the account says was filtered, rejected or
// null, and no more markers than it calls gaps. Less may: compaction removes records later.
func (c *comparison) claim(k *claimed, contents []stretch, sum *Topic) {
	slices.SortFunc(k.pieces, func(a, b piece) int { return cmp.Or(cmp.Compare(a.From, b.From), cmp.Compare(a.To, b.To)) })
	var in, out counts
	type contradicted struct {
		Problem
		offsets account.Set // piece by piece as they were compared
	}
	wrong := map[int]*contradicted{} // by file
	said := int64(0)
	each(k.From, k.To, k.pieces, contents, func(from, to int64, what connector.Content, file int) {
		sum.Compared += to - from
		said += to - from
		if file < 0 {
			out[what] += to - from
			return
		}
		in[what] += to - from
		if what == connector.Null || what == connector.Marker || what == connector.Beyond || what == connector.Aborted && c.broker.Isolation == "read_committed" {
			w := wrong[file]
			if w == nil {
				w = &contradicted{Problem: Problem{Kind: TopicContradicts, Path: k.files[file], What: fmt.Sprintf("the file holds offsets of %s where the topic has %s",
					k.Split, noRecord[what]), ToDo: "the topic was made anew or cut, or the file's rows are not its records: compare a few of these rows with the topic"}}
				wrong[file] = w
			}
			w.offsets.Runs = append(w.offsets.Runs, account.Run{From: from, To: to})
		}
	})
	if said < k.To-k.From {
		c.cannot(k.Split, whichRead, "the broker says nothing of offset %s", account.Number(k.From+said))
	}
	cert := &certificate{n: k.n}
	cert.Checkpoint = k.checkpoint
	for _, file := range slices.Sorted(maps.Keys(wrong)) {
		w := wrong[file]
		w.Offsets = []SplitOffsets{{k.Split, w.offsets.Text(), w.offsets.Count()}}
		c.j.found(cert, w.Problem)
	}
	gone := in[connector.Gone] + out[connector.Gone]
	sum.Gone += gone
	sum.Compared -= gone
	sum.Removed += in[connector.Absent]
	sum.Records += out[connector.Record] + out[connector.Open]
	sum.Null += out[connector.Null]
	sum.Markers += out[connector.Marker]
	sum.Aborted += out[connector.Aborted]
	sum.Absent += out[connector.Absent]
	if k.closes && said == k.To-k.From {
		c.accounts(k, out, contents, cert)
	}
}

var noRecord = map[connector.Content]string{connector.Null: "a record without value", connector.Marker: "the end of a transaction", connector.Beyond: "nothing yet: it ends before them",
	connector.Aborted: "a record of a transaction that was given up"}

// accounts compares the counts of an account with what stands at the offsets that no file holds.
func (c *comparison) accounts(k *claimed, out counts, contents []stretch, cert *certificate) {
	records, aborted, markers := out[connector.Record], out[connector.Aborted], out[connector.Marker]
	isRecord, isMarker := []connector.Content{connector.Record}, []connector.Content{connector.Marker}
	switch c.broker.Isolation {
	case "read_committed":
		markers, aborted, isMarker = markers+aborted, 0, append(isMarker, connector.Aborted)
	case "read_uncommitted":
		records, aborted, isRecord = records+aborted, 0, append(isRecord, connector.Aborted)
	}
	rows := k.Filtered + k.Rejected + k.Skipped
	type excess struct {
		more int64
		what string
		of   []connector.Content
	}
	for _, x := range []excess{
		{records - rows, fmt.Sprintf("%s records stand in the topic where the account of %s says that %s were filtered, rejected or skipped", account.Number(records), k.Split, account.Number(rows)),
			isRecord},
		{out[connector.Null] - k.Null - k.Skipped, fmt.Sprintf("%s records without value stand in the topic where the account of %s says %s", account.Number(out[connector.Null]), k.Split, account.Number(k.Null)),
			[]connector.Content{connector.Null}},
		{markers - k.Gaps - k.Skipped, fmt.Sprintf("%s offsets have no record for this reader where the account of %s says %s", account.Number(markers), k.Split, account.Number(k.Gaps)),
			isMarker},
		{records + aborted + markers - rows - k.Gaps, fmt.Sprintf("%s offsets without a row have a record or a marker in the topic, the account of %s says %s", account.Number(records+aborted+markers), k.Split,
			account.Number(rows+k.Gaps)), []connector.Content{connector.Record, connector.Aborted}},
		{out[connector.Beyond], fmt.Sprintf("the account of %s goes on to offset %s, where the topic has nothing yet", k.Split, account.Number(k.To-1)), []connector.Content{connector.Beyond}},
	} {
		if x.more <= 0 {
			continue
		}
		set := account.Set{}
		each(k.From, k.To, k.pieces, contents, func(from, to int64, what connector.Content, file int) {
			if file >= 0 || !slices.Contains(x.of, what) {
				return
			}
			set.AddRun(from, to)
		})
		c.j.found(cert, Problem{Kind: TopicContradicts, What: x.what, Path: c.j.rep.Log, Offsets: []SplitOffsets{{k.Split, set.Text(), set.Count()}},
			ToDo: "rows may be missing: run the job's SELECT over these offsets and compare; if the topic was made anew meanwhile, it cannot be compared"})
		return // the others follow from it
	}
}

// nothing reports splits of which no offset could be compared although the table has some.
func (c *comparison) nothing() {
	for _, split := range slices.Sorted(maps.Keys(c.topics)) {
		if s := c.topics[split]; s.Compared == 0 && s.Gone > 0 {
			c.cannot(split, tooOld, "all %s offsets are in front of the first one that the topic still has, %s", account.Number(s.Gone), account.Number(s.First))
		}
	}
}
