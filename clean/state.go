package clean

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"

	"staunch/account"
	"staunch/checkpoint"
	"staunch/commit"
	"staunch/fault"
	"staunch/fs"
	"staunch/log"
)

// jobLog is what a job's log says.
type jobLog struct {
	logID     string
	newest    account.Epoch
	ended     bool
	completed account.CheckpointID
	named     map[string]bool
	folders   map[string]bool
	tables    map[string]bool
}

// readJob reads a job's log. nil: there is none.
func (c *cleaner) readJob(store fs.FS, dir string) (*jobLog, error) {
	entries, err := c.log(store, dir, "").Read()
	if err != nil || len(entries) == 0 {
		return nil, err
	}
	j := &jobLog{named: map[string]bool{}, folders: map[string]bool{}, tables: map[string]bool{}}
	for _, e := range entries {
		if err := j.apply(e); err != nil {
			return nil, fault.New(fault.Damage, "%s: entry %d (%s): %w", dir, e.N, e.Kind, err)
		}
	}
	return j, nil
}

// apply folds one entry. Every complete that can be read counts, also one that another replaced: it might be asked for by name.
func (j *jobLog) apply(e log.Entry) error {
	switch e.Kind {
	case account.KindBegin:
		var b account.Begin
		if err := json.Unmarshal(e.Body, &b); err != nil {
			return err
		}
		if j.logID == "" || b.Renewed {
			j.logID = b.LogID
		}
		j.newest, j.ended = max(j.newest, account.Epoch(e.N)), false
	case account.KindComplete:
		var m checkpoint.Metadata
		if err := json.Unmarshal(e.Body, &m); err != nil {
			return err
		}
		if m.Version > checkpoint.Version {
			return tooNew(m.Version)
		}
		j.logID = m.LogID
		j.newest, j.completed = max(j.newest, m.Epoch), max(j.completed, m.ID)
		j.promises(&m)
	case account.KindRewind:
		var r checkpoint.Rewind
		if err := json.Unmarshal(e.Body, &r); err != nil {
			return err
		}
		if r.Version > checkpoint.Version {
			return tooNew(r.Version)
		}
		j.logID, j.ended = r.LogID, false
		j.newest, j.completed = max(j.newest, r.Epoch), max(j.completed, r.Greatest)
		for key := range r.Tables {
			j.tables[key] = true
		}
		if r.Target != nil {
			j.promises(r.Target)
		}
	case account.KindEnd:
		j.ended = true
	default:
		return errors.New("unknown kind; the log was written by a newer version")
	}
	return nil
}

func tooNew(version int) error {
	return fmt.Errorf("it has format %d, this version of staunch reads up to %d", version, checkpoint.Version)
}

// promises notes what a checkpoint names.
func (j *jobLog) promises(m *checkpoint.Metadata) {
	for key, t := range m.Tables {
		j.tables[key] = true
		for i := range t.Files {
			j.named[path.Base(t.Files[i].Pending)] = true
		}
		for _, d := range t.Directories {
			j.folders[path.Join(path.Base(path.Dir(d)), path.Base(d))] = true
		}
	}
}

func (c *cleaner) state() *State {
	return &State{Job: c.job.ID, Named: map[string]bool{}, Folders: map[string]bool{}, Archives: map[string]bool{}, Repairing: map[string]bool{}}
}

// readTable reads the table's log, and the job logs of all who have claimed it.
func (c *cleaner) readTable(t Table) (*State, error) {
	dir := commit.Dir(t.Root, c.job.ID)
	entries, err := c.log(t.Store, dir, ".staunch").Read()
	if err != nil {
		return nil, err
	}
	var folded commit.State // refuses what it does not know
	if err := folded.ApplyAll(entries); err != nil {
		return nil, fmt.Errorf("log %s: %w", dir, err)
	}
	s := c.state()
	claims := map[[2]string]account.Epoch{}
	claimed := func(x account.Claim) {
		k := [2]string{x.LogID, x.Log}
		claims[k] = max(claims[k], x.Epoch)
	}
	for _, e := range entries {
		s.Last = max(s.Last, e.N)
		var err error
		switch e.Kind {
		case account.KindClaim:
			var x account.Claim
			err = json.Unmarshal(e.Body, &x)
			claimed(x)
		case account.KindCertificate:
			var x account.Certificate
			err = json.Unmarshal(e.Body, &x)
			for i := range x.Files {
				s.Named[path.Base(x.Files[i].Pending)] = true
			}
		case account.KindSegment:
			var x account.Segment
			err = json.Unmarshal(e.Body, &x)
			claimed(x.Claim)
			for _, a := range x.Archives {
				s.Archives[a.Name] = true
			}
		}
		if err != nil {
			return nil, fault.New(fault.Damage, "%s: entry %d (%s): %w", dir, e.N, e.Kind, err)
		}
	}
	s.Completed = folded.Chain.Checkpoint
	if err := c.owners(s, claims, folded.Claim); err != nil {
		return nil, err
	}
	// Files that have just left a folder are perhaps not durable in their place yet, and a power cut has to find the folder to bring them back to.
	// [The folder's end is on disk and the rename is not: the file is nowhere.]
	switch {
	case folded.Superseding != nil:
		s.Completed = 0
	case folded.Chain.Certificate != "" && !folded.ChainDone:
		s.Completed = min(s.Completed, folded.Chain.Checkpoint-1)
	}
	s.without(c.opt.Variant)
	return s, nil
}

// repairing notes the staged replacements that may still go to their place: an entry names each, its certificate counts, and nothing stands there. A
// replacement that is removed all the same makes a repair begin anew, no more.
func (c *cleaner) repairing(t Table, l Listing, s *State) error {
	if !slices.ContainsFunc(l.Temporary, func(f Found) bool { _, _, ok := account.ParseRepairName(path.Base(f.Path)); return ok }) {
		return nil
	}
	m, err := commit.ReadMended(c.env, t.Store, t.Root, c.job.ID)
	if err != nil {
		return err
	}
	for r := range m.Each {
		if m.Removed[r.Final] == 0 && (m.Superseded[r.Certificate] == 0 || m.Rewinding(r.Certificate)) {
			there, err := c.stands(t.Store, r.Final)
			if err != nil {
				return err
			}
			s.Repairing[path.Base(r.Staged)] = !there
		}
	}
	return nil
}

// stands reports whether there is a file.
func (c *cleaner) stands(store fs.FS, p string) (bool, error) {
	err := c.patient(func() error { _, err := store.Stat(p); return err })
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// without takes rules away.
func (s *State) without(v Variant) {
	if v.Named {
		clear(s.Named)
	}
	if v.OwnLog {
		s.Owners = s.Owners[:1]
	}
	if v.Running {
		for i := range s.Owners {
			s.Owners[i].Newest++
		}
	}
}

// owners reads the job logs behind the claims. inForce is the newest claim.
func (c *cleaner) owners(s *State, claims map[[2]string]account.Epoch, inForce *account.Claim) error {
	own, err := c.readJob(c.job.Store, c.job.Dir)
	if err != nil {
		return err
	}
	if own == nil {
		return fault.Userf("job %q has no log in %s any more", c.job.ID, c.job.Dir)
	}
	s.Owners = append(s.Owners, own.owner(c.job.Dir, 0))
	s.Owners[0].Own = true
	if inForce == nil || inForce.LogID == own.logID && c.isOwn(inForce.Log) {
		s.Completed = max(s.Completed, own.completed)
	}
	own.into(s)
	for k, epoch := range claims {
		if k[0] == own.logID && c.isOwn(k[1]) {
			continue
		}
		o, err := c.other(s, account.Claim{LogID: k[0], Log: k[1], Epoch: epoch})
		if err != nil {
			return err
		}
		s.Owners = append(s.Owners, o)
	}
	slices.SortStableFunc(s.Owners[1:], func(a, b Owner) int { return int(a.Claimed - b.Claimed) })
	return nil
}

// isOwn reports whether a claim's log lies where the job's own does.
func (c *cleaner) isOwn(dir string) bool {
	return dir == c.job.Dir || dir == fs.URI(c.job.Store, c.job.Dir)
}

// other reads the log behind a claim that is not the job's own.
func (c *cleaner) other(s *State, claim account.Claim) (Owner, error) {
	lost := Owner{LogID: claim.LogID, Dir: claim.Log, Lost: true, Claimed: claim.Epoch}
	store, dir, err := c.job.Stores.Resolve(claim.Log)
	if err != nil { // a store that is not known here
		return lost, nil
	}
	other, err := c.readJob(store, dir)
	if err != nil {
		return lost, fmt.Errorf("the log of another checkpoint directory that has claimed the table: %w", err)
	}
	if other == nil || other.logID != claim.LogID {
		return lost, nil
	}
	other.into(s)
	return other.owner(claim.Log, claim.Epoch), nil
}

func (j *jobLog) owner(dir string, claimed account.Epoch) Owner {
	return Owner{LogID: j.logID, Dir: dir, Newest: j.newest, Claimed: claimed, Ended: j.ended}
}

func (j *jobLog) into(s *State) {
	maps.Copy(s.Named, j.named)
	maps.Copy(s.Folders, j.folders)
}
