package commit

import (
	"encoding/json"
	"fmt"

	"staunch/account"
	"staunch/log"
)

// Amend appends an amend entry to the table's log, behind all that stands. may is asked with what the log says of files other than its certificates,
// first and again for each entry of others that was read on the way; its error ends it, and nothing was written then. It gives the entry's number.
func (r *Repairer) Amend(a account.Amend, may func(*Mended) error) (int64, error) {
	if err := r.refresh(); err != nil {
		return 0, err
	}
	if err := may(r.known); err != nil {
		return 0, err
	}
	b, err := json.Marshal(a)
	if err != nil {
		return 0, fmt.Errorf("encode %s: %w", account.KindAmend, err)
	}
	e, err := r.put(account.KindAmend, b, func() error { return may(r.known) })
	if err != nil {
		return 0, err
	}
	return e.N, nil
}

// put places an operator's entry behind all that stands. Claims and whatever else other processes append on the way are no reason to stop; may, which
// is asked after each of them, is.
func (r *Repairer) put(kind string, body []byte, may func() error) (log.Entry, error) {
	e, err := r.t.log.Append(log.Append{Kind: kind, Body: body,
		OnTaken: func(e log.Entry) error {
			if err := r.take(e); err != nil {
				return err
			}
			return may()
		},
		Below: func(own int64, all []log.Head) log.Below {
			if own < newestSegment(own, all) {
				return log.Again
			}
			return log.Fine
		}})
	if err != nil {
		return e, fmt.Errorf("append %s to the log of table %s: %w", kind, r.t.root, err)
	}
	return e, r.take(e)
}
