package commit

import (
	"testing"

	"staunch/account"
	"staunch/log"
)

// TestEntryShownTwice: an append that ended at an entry of another process has folded it, and the next append is shown it again.
func TestEntryShownTwice(t *testing.T) {
	var s State
	repair := log.Entry{N: 2, Kind: account.KindRepair, Body: []byte("{}"), SHA256: "r"}
	for _, e := range []log.Entry{{N: 1, Kind: account.KindClaim, Body: []byte("{}"), SHA256: "c"}, repair, repair, {N: 3, Kind: account.KindAccept, Body: []byte("{}"), SHA256: "a"}} {
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
	}
	if len(s.kinds) != 3 || s.LastN != 3 {
		t.Errorf("entries %v, the last %d", s.kinds, s.LastN)
	}
	// one that could not be read is not passed over the second time
	unknown := log.Entry{N: 4, Kind: "later", Body: []byte("{}"), SHA256: "u"}
	for range 2 {
		if err := s.Apply(unknown); err == nil {
			t.Error("an entry of an unknown kind was folded")
		}
	}
}

// TestSegmentEndsRewind: who has read a *supersede* and comes back behind a segment does not carry it out once more; the *rewound* between the two
// is in the archive. [Its own *rewound* would end nothing, and the chain be called broken.]
func TestSegmentEndsRewind(t *testing.T) {
	var s State
	for _, e := range []log.Entry{
		{N: 1, Kind: account.KindClaim, Body: []byte("{}"), SHA256: "c"},
		{N: 2, Kind: account.KindSupersede, Body: []byte(`{"rewind":"r"}`), SHA256: "s"},
		{N: 9, Kind: account.KindSegment, Body: []byte("{}"), SHA256: "g"},
	} {
		if err := s.Apply(e); err != nil {
			t.Fatal(err)
		}
		if pending := s.Superseding != nil; pending != (e.N == 2) {
			t.Errorf("behind entry %d: a rewind is to be finished: %v", e.N, pending)
		}
	}
}
