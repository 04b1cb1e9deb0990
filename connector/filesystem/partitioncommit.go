package filesystem

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"staunch/changelog"
	"staunch/config"
	"staunch/connector"
	"staunch/fault"
	"staunch/fs"
	"staunch/function/datetime"
)

// partitionCommit is the rule and policy of one table.
type partitionCommit struct {
	store fs.FS
	root  string
	table string

	keys        []string
	defaultName string
	byTime      bool
	delay       time.Duration
	zone        *datetime.Zone
	pattern     string
	format      *datetime.Pattern
	successName string
}

// partitionCommitOf binds the options; nil without a policy or without partitions, as in Flink.
func partitionCommitOf(t connector.Table, v config.Values, ext string) (*partitionCommit, error) {
	if v.String(keyPolicyKind) == "" || len(t.PartitionKeys) == 0 {
		return nil, nil
	}
	c := &partitionCommit{keys: t.PartitionKeys, defaultName: v.String(keyDefaultName), pattern: v.String(keyTimePattern),
		successName: v.String(keySuccessName)}
	if isData(c.successName, ext) {
		return nil, v.Errorf(keySuccessName, "readers would take it for a data file; accepted is a name that does not end in .%s", ext)
	}
	trigger, err := v.Enum(keyTrigger)
	if err != nil {
		return nil, err
	}
	c.byTime = trigger == triggerPartitionTime
	if c.delay, err = v.Duration(keyDelay); err != nil {
		return nil, err
	}
	if c.zone, err = datetime.LoadZone(v.String(keyWatermarkZone)); err != nil {
		return nil, v.Errorf(keyWatermarkZone, "%v", err)
	}
	if text := v.String(keyTimeFormatter); text != "" {
		if c.format, err = datetime.CompilePattern(text); err != nil {
			return nil, v.Errorf(keyTimeFormatter, "%v", err)
		}
	}
	return c, nil
}

// Due implements connector.PartitionCommit. At the end of the input every partition is due.
func (c *partitionCommit) Due(values []*string, firstSeen int64, watermark changelog.Watermark, now int64) (bool, error) {
	if watermark == changelog.MaxWatermark {
		return true, nil
	}
	delay := c.delay.Milliseconds()
	if !c.byTime {
		return delay == 0 || now > firstSeen+delay, nil
	}
	if watermark == changelog.MinWatermark {
		return false, nil
	}
	at, err := c.timeOf(values)
	if err != nil {
		return false, err
	}
	return int64(watermark) > at+delay, nil
}

// timeOf extracts the partition's time as an instant in milliseconds.
func (c *partitionCommit) timeOf(values []*string) (int64, error) {
	text := c.timeText(values)
	local, ok := parseLenient(text)
	if c.format != nil {
		fields, err := c.format.Parse([]byte(text))
		if ok = err == nil; ok {
			local, ok = fields.Timestamp(1000)
		}
	}
	if !ok {
		expected := "y-M-d or y-M-d H:m:s"
		if c.format != nil {
			expected = c.format.String()
		}
		return 0, fault.Userf("table %s, partition %s: '%s' is no time of the form %s, so it is not known when the partition is complete", c.table,
			c.describe(values), text, expected).WithHint("set '%s' and '%s' so that every partition has a time, or '%s' = '%s'", keyTimePattern,
			keyTimeFormatter, keyTrigger, triggerProcessTime)
	}
	// As java.time does: a doubled time is the earlier one, a skipped one is moved on by the length of the gap.
	at, ok := c.zone.LocalToInstant(local, 1000)
	if !ok {
		return 0, fault.Userf("table %s, partition %s: the time '%s' is out of range", c.table, c.describe(values), text)
	}
	return at, nil
}

// timeText puts the values into the pattern, key by key as Flink does: $d in the pattern of a table with keys d and day is replaced inside
// $day as well.
func (c *partitionCommit) timeText(values []*string) string {
	if c.pattern == "" {
		return c.text(values[0])
	}
	text := c.pattern
	for i, k := range c.keys {
		text = strings.ReplaceAll(text, "$"+k, c.text(values[i]))
	}
	return text
}

func (c *partitionCommit) text(v *string) string {
	if v == nil {
		return c.defaultName
	}
	return *v
}

func (c *partitionCommit) describe(values []*string) string {
	var b strings.Builder
	for i, k := range c.keys {
		if i > 0 {
			b.WriteByte('/')
		}
		b.WriteString(Escape(k) + "=" + Escape(c.text(values[i])))
	}
	return b.String()
}

// parseLenient reads y-M-d[ H:m:s[.fraction]] as Flink does: any number of one or two digits is taken, and what is more than its field holds
// goes on into the next (2024-02-30 is 1 March). The result is milliseconds of the wall clock.
func parseLenient(s string) (ms int64, ok bool) {
	p := digits{s: s}
	sign := int64(1)
	if strings.HasPrefix(s, "-") {
		sign, p.at = -1, 1
	}
	year := sign * p.number(10)
	p.literal('-')
	month := p.number(2)
	p.literal('-')
	day := p.number(2)
	var hour, minute, second, nanos int64
	if !p.end() {
		p.literal(' ')
		hour = p.number(2)
		p.literal(':')
		minute = p.number(2)
		p.literal(':')
		second = p.number(2)
		if !p.end() {
			p.literal('.')
			nanos = p.fraction()
		}
	}
	if p.bad || !p.end() || year < -999_999 || year > 999_999 {
		return 0, false
	}
	months := year*12 + month - 1
	days := datetime.DaysFromCivil(int(datetime.FloorDiv(months, 12)), int(datetime.FloorMod(months, 12))+1, 1) + day - 1
	return ((days*24+hour)*60+minute)*60_000 + second*1000 + nanos/1_000_000, true
}

// digits reads a text from left to right; the first thing that is not as expected makes it bad.
type digits struct {
	s   string
	at  int
	bad bool
}

func (p *digits) end() bool { return p.bad || p.at == len(p.s) }

func (p *digits) literal(c byte) {
	if p.bad || p.at == len(p.s) || p.s[p.at] != c {
		p.bad = true
		return
	}
	p.at++
}

// number reads 1 to width digits.
func (p *digits) number(width int) (n int64) {
	from := p.at
	for !p.bad && p.at < len(p.s) && p.at-from < width && p.s[p.at] >= '0' && p.s[p.at] <= '9' {
		n = n*10 + int64(p.s[p.at]-'0')
		p.at++
	}
	p.bad = p.bad || p.at == from
	return n
}

// fraction reads 1 to 9 digits as nanoseconds.
func (p *digits) fraction() int64 {
	from := p.at
	n := p.number(9)
	for range 9 - (p.at - from) {
		n *= 10
	}
	return n
}

// Commit implements connector.PartitionCommit: the success file is created if it is absent and never rewritten, and is durable after it.
func (c *partitionCommit) Commit(partition string, _ []*string) error {
	dir := c.root + "/" + partition
	name := dir + "/" + c.successName
	if err := c.create(dir, name); err != nil {
		return classify(err, "create", name)
	}
	// Also when it was there: an earlier try may not have come so far.
	if err := c.store.SyncDir(dir); err != nil {
		return classify(err, "sync folder", dir)
	}
	return nil
}

func (c *partitionCommit) create(dir, name string) error {
	h, err := c.store.Create(name)
	if errors.Is(err, fs.ErrNotExist) {
		// The folder was removed in between: the sign is given all the same, as in Flink.
		if err = c.store.MkdirAll(dir); err != nil {
			return fmt.Errorf("make folder %s: %w", dir, err)
		}
		h, err = c.store.Create(name)
	}
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(h.Sync(), h.Close())
}
