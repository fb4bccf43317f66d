package tier

import (
	"context"
	"encoding/json"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// A scan has a record in the namespace from its order until it is forgotten,
// and beyond a restart. What is found is in the catalogue at once. How far
// a scan is stays in memory: a scan that a restart cut off begins again, and
// finds what it found before as known.

// scanRecord is a scan as it is stored, in JSON.
type scanRecord struct {
	Scan      hemera.TapeScan
	Order     hemera.TapeOrder
	Who       string
	Cancelled bool `json:",omitempty"`
}

// record is what is stored of a scan.
func (s *scan) record() ([]byte, error) {
	return json.Marshal(scanRecord{s.TapeScan, s.order, s.who, s.cancelled})
}

// put has a scan in the list, nil for none, and notes that its record is to
// be written. The lock is held.
func (t scanner) put(vid string, s *scan) {
	t.unkept[vid] = true
	if t.scans[vid] = s; s == nil {
		delete(t.scans, vid)
	}
}

// keep writes the records of scans that were ordered, have ended or were
// forgotten. What could not be written is written with the next one.
func (t scanner) keep(ctx context.Context) error {
	// In turn: an older state must not be written over a newer one.
	release, err := takeTurn(ctx, t.changing, "scans")
	if err != nil {
		return err
	}
	defer release()
	records, err := t.changed()
	if err == nil && len(records) > 0 {
		err = t.catalogue.PutScans(ctx, records)
	}
	if err == nil {
		return nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	for vid := range records {
		t.unkept[vid] = true
	}
	return errs.Wrap(err, "tier.Scan", "")
}

// changed takes the scans whose records are to be written.
func (t scanner) changed() (map[string][]byte, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	records := map[string][]byte{}
	for vid := range t.unkept {
		records[vid] = nil
		if s := t.scans[vid]; s != nil {
			raw, err := s.record()
			if err != nil {
				return nil, err
			}
			records[vid] = raw
		}
	}
	clear(t.unkept)
	return records, nil
}

// load reads the scans of the manager before this one.
func (t scanner) load(ctx context.Context) error {
	records, err := t.catalogue.Scans(ctx)
	if err != nil {
		return err
	}
	for _, raw := range records {
		var r scanRecord
		if err := json.Unmarshal(raw, &r); err != nil {
			return errs.As(err, errs.Corrupt, "tier.Open", "the record of a scan")
		}
		s := &scan{TapeScan: r.Scan, order: r.Order, who: r.Who, cancelled: r.Cancelled}
		if s.Ended.IsZero() {
			s.waitAgain()
		}
		t.scans[s.VID] = s
	}
	return nil
}
