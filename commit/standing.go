package commit

import (
	"slices"

	"staunch/account"
	"staunch/fault"
)

// Standing is the state that a table's chain holds: where each split stood at its end, and what is pending.
type Standing struct {
	// Newest is the certificate at the chain's end, nil if there is none.
	Newest *Certified
	// Positions of splits, by the newest certificate that names each. The offsets below are in the table, or accounted for.
	Positions map[string]int64
	// Pending partitions got files and were not declared complete since.
	Pending []PendingPartition
}

// PendingPartition is a partition that is not declared complete.
type PendingPartition struct {
	Partition string
	Values    []*string
	// FirstSeen in milliseconds since 1970: the time of the first checkpoint with a file of it since it was last declared complete.
	FirstSeen int64
	// Lost: a file of it is lost.
	Lost bool
	// Due: a certificate promises to declare it.
	Due bool
}

// Standing reads the whole chain, also behind segments. REQUIRES: Refresh or Claim.
func (t *Table) Standing() (Standing, error) {
	s := Standing{Positions: map[string]int64{}}
	declared, due, at := map[string]bool{}, map[string]bool{}, map[string]int{}
	err := t.walk(func(c *Certified) (bool, error) {
		if s.Newest == nil {
			s.Newest = c
		}
		if err := s.positions(c, s.Newest == c); err != nil {
			return false, err
		}
		for p := range c.Committed {
			declared[p] = true
		}
		for _, p := range c.Partitions {
			due[p] = due[p] || !declared[p]
		}
		for i, f := range c.Files {
			if f.Partition == "" || declared[f.Partition] {
				continue
			}
			k, ok := at[f.Partition]
			if !ok {
				k = len(s.Pending)
				at[f.Partition] = k
				s.Pending = append(s.Pending, PendingPartition{Partition: f.Partition, Values: f.PartitionValues})
			}
			p := &s.Pending[k]
			p.FirstSeen = c.Time.UnixMilli() // the oldest comes last
			p.Lost = p.Lost || c.Done != nil && i < len(c.Done.Verdicts) && c.Done.Verdicts[i] == account.Lost
		}
		return true, nil
	})
	for i := range s.Pending {
		p := &s.Pending[i]
		p.Due = due[p.Partition] && !p.Lost
	}
	slices.Reverse(s.Pending)
	return s, err
}

// positions takes over what a certificate says of splits that no newer one names.
func (s *Standing) positions(c *Certified, newest bool) error {
	own := map[string]int64{}
	by := map[[2]string]int64{} // an INSERT may have several ranges of a split, one behind the other
	for _, r := range c.Ranges {
		k := [2]string{r.Split, r.Insert}
		by[k] = max(by[k], r.To)
	}
	for k, to := range by {
		if old, ok := own[k[0]]; ok && old != to && newest {
			return fault.Userf("checkpoint %d: the INSERTs stand at different offsets of %s (%d and %d): no one position goes on from there", c.Checkpoint, k[0], min(old, to), max(old, to))
		}
		own[k[0]] = max(own[k[0]], to)
	}
	for split, to := range own {
		if _, ok := s.Positions[split]; !ok {
			s.Positions[split] = to
		}
	}
	return nil
}
