package tier

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A scan has a record in the namespace from its order until it is forgotten,
// and beyond a restart. What is found is in the catalogue at once. How far
// a scan is stays in memory: a scan that a restart cut off begins again, and
// finds what it found before as known.

// scans are the scans that were ordered, also those that ended. Its methods
// change what is in memory; a scanner writes the records. They lock, and have each scan change itself.
type scans struct {
	clock func() time.Time // as it is stored

	// mu guards all below.
	mu     sync.Mutex
	all    map[hemera.VID]*scan // by VID
	unkept map[hemera.VID]bool  // VIDs of scans whose record is older than the scan
}

// scan is one scan. The lock of scans guards it, and is held over its methods, which alone change it.
type scan struct {
	adminapi.TapeScan
	order adminapi.TapeOrder
	who   string
	mount tapeapi.MountID
	// cancelled: it ended because a person wanted it to.
	cancelled bool
	first     tapeapi.Written // of the last report: the same one means that it came again
	cut       int             // how often its mount was lost
}

// waitingScan is a scan that waits for a drive.
type waitingScan struct {
	vid   hemera.VID
	data  bool
	after uint64
}

// lockedScan returns the reason for which a scan that a drive could do waits for a key, or "".
type lockedScan struct {
	vid hemera.VID
	why string
}

// scanCutMax bounds the new beginnings of a scan whose mount was lost, before it has failed.
const scanCutMax = 3

// scanFindingsMax bounds what is shown of the files of a scan.
const scanFindingsMax = 200

// ordered reports whether the scan waits for a drive.
func (s *scan) ordered() bool { return s.Begun.IsZero() && s.Ended.IsZero() }

// wait notes what keeps the scan from going on, or from taking what it finds; "" if nothing does.
func (s *scan) wait(why string) { s.Why = why }

// begin has the mount of a drive work on the scan.
func (s *scan) begin(mount tapeapi.MountID, drive string, now time.Time) {
	s.mount, s.Begun, s.Drive = mount, now, drive
}

// end ends the scan; problem is "" if it is complete.
func (s *scan) end(now time.Time, problem string) { s.Ended, s.Problem = now, problem }

// cancel ends the scan for a person. Reports of its mount are not for it any more.
func (s *scan) cancel(now time.Time, who string) {
	s.end(now, "cancelled by "+who)
	s.mount, s.cancelled = 0, true
}

// lose has the scan wait for a drive again, as its mount was lost. It is false for a scan that has lost too many.
func (s *scan) lose() bool {
	if s.cut++; s.cut > scanCutMax {
		return false
	}
	s.waitAgain()
	return true
}

// waitAgain returns the scan as it was before a drive began it.
func (s *scan) waitAgain() {
	s.TapeScan = adminapi.TapeScan{VID: s.VID, DryRun: s.DryRun, Asked: s.Asked, Counts: map[tapeapi.Outcome]int64{}}
	s.mount, s.first = 0, tapeapi.Written{}
}

// count adds the files of a report, unless they are those of the last one: how many the catalogue did not know, and what
// became of them.
func (s *scan) count(files []tapeapi.Scanned, unknown int, taken []tapeapi.Taken) {
	// No two files of a tape are at the same place.
	if len(files) == 0 || s.first == files[0].Written {
		return // the answer to it was lost
	}
	s.first = files[0].Written
	s.Counts[tapeapi.TookKnown] += int64(len(files) - unknown)
	for _, f := range files {
		s.Files, s.Bytes, s.FSeq = s.Files+1, s.Bytes+f.Written.Size, f.Written.FSeq
	}
	// What went well is counted, the rest told as far as there is room.
	for _, one := range taken {
		s.Counts[one.Outcome]++
		told := one.Outcome == tapeapi.TookKnown || one.Outcome == tapeapi.TookMade || one.Outcome == tapeapi.TookCopy
		if !told && len(s.Found) < scanFindingsMax {
			s.Found = append(s.Found, one)
		}
	}
}

// put has a scan in the list, nil for none, and notes that its record is to
// be written. The lock is held.
func (ss *scans) put(vid hemera.VID, s *scan) {
	ss.unkept[vid] = true
	if ss.all[vid] = s; s == nil {
		delete(ss.all, vid)
	}
}

// enlist adds scans of tapes to the list. It returns how many wait for a drive, and how many cannot begin without a key.
func (ss *scans) enlist(f facts, vids []hemera.VID, who string, o adminapi.TapeOrder) (ordered, locked int, err error) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, vid := range vids {
		if f.fleet.libraryOf(vid) == nil {
			return 0, 0, errs.New(errs.NotFound, "tier.Scan", string(vid), "no library that reports has the cartridge").WithRemedy("put it into a library; see `hemera tape drive ls`")
		}
		if s := ss.all[vid]; s != nil && s.Ended.IsZero() {
			if o.Subject != "" {
				return 0, 0, errs.New(errs.Exists, "tier.Scan", string(vid), "a scan of the tape waits, or goes on").WithRemedy("see how far it is: `hemera tape scan`")
			}
			continue
		}
		// Of all tapes the others are scanned, and the list of scans says why this one was not.
		lock := f.lockOf(vid)
		if lock != nil && o.Subject != "" {
			return 0, 0, lock
		}
		// In place of one that ended: people see the last scan of a tape.
		s := &scan{TapeScan: adminapi.TapeScan{VID: vid, DryRun: o.DryRun, Asked: ss.clock(), Counts: map[tapeapi.Outcome]int64{}}, order: o, who: who}
		ss.put(vid, s)
		if lock != nil {
			s.end(ss.clock(), lockText(lock))
			locked++
			continue
		}
		ordered++
	}
	return ordered, locked, nil
}

// waiting lists the scans that wait for a drive, by VID.
func (ss *scans) waiting() (out []waitingScan) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, vid := range slices.Sorted(maps.Keys(ss.all)) {
		if s := ss.all[vid]; s.ordered() {
			out = append(out, waitingScan{vid, s.order.Data, s.order.After})
		}
	}
	return out
}

// explain notes which scans wait for keys.
func (ss *scans) explain(locked []lockedScan) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, l := range locked {
		if s := ss.all[l.vid]; s != nil && s.ordered() {
			s.wait(l.why)
		}
	}
}

// begin notes the mount of a scan; it is false if the scan does not wait any more.
func (ss *scans) begin(vid hemera.VID, mount tapeapi.MountID, drive string, now time.Time) bool {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := ss.all[vid]
	if s == nil || !s.ordered() {
		return false
	}
	s.begin(mount, drive, now)
	return true
}

// end ends the scan of a mount that is over, if the mount is for a scan.
func (ss *scans) end(m *mount, problem string) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	ss.endOf(endedMount{m.id, m.vid}, problem)
}

// endOf does what end does. The lock is held.
func (ss *scans) endOf(m endedMount, problem string) {
	s := ss.all[m.vid]
	// A scan that is complete has ended already.
	if s != nil && s.mount == m.id && s.Ended.IsZero() {
		s.end(ss.clock(), cmp.Or(problem, "the mount ended before the beginning of the tape was reached"))
		ss.put(m.vid, s)
	}
}

// lose has the scans of mounts wait for a drive again, as no report has ended the mounts: their server died, or lost its way to the manager.
// A scan that this happens to again and again has failed.
func (ss *scans) lose(over []endedMount) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, m := range over {
		s := ss.all[m.vid]
		if s == nil || s.mount != m.id || !s.Ended.IsZero() {
			continue
		}
		if !s.lose() {
			ss.endOf(m, "")
		}
	}
}

// of returns the scan of a mount as it is.
func (ss *scans) of(m *mount) (s *scan, now scan, err error) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	if m != nil {
		s = ss.all[m.vid]
	}
	if s == nil || s.mount != m.id {
		return nil, now, errs.New(errs.NotFound, "tier.Scan", "", "the scan is not known here: it was cancelled, or the manager was started since").
			WithRemedy("a scan that was not cancelled begins again by itself: what was found is in the catalogue already")
	}
	return s, *s, nil
}

// differs counts the files of a scan at whose place the catalogue has something else, with those of its last report.
func (ss *scans) differs(s *scan, last []tapeapi.Taken) int64 {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	n := s.Counts[tapeapi.TookDiffers]
	for _, one := range last {
		if one.Outcome == tapeapi.TookDiffers {
			n++
		}
	}
	return n
}

// count adds a report to what people see of a scan, and why nothing is taken from its tape.
func (ss *scans) count(s *scan, why string, r *tapeapi.ScanResults, unknown int, taken []tapeapi.Taken) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s.wait(why)
	if r.Complete {
		s.end(ss.clock(), s.Problem)
		ss.put(s.VID, s)
	}
	s.count(r.Files, unknown, taken)
}

// unwritten takes the scans whose records are to be written.
func (ss *scans) unwritten() (map[hemera.VID][]byte, error) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	records := map[hemera.VID][]byte{}
	for vid := range ss.unkept {
		records[vid] = nil
		if s := ss.all[vid]; s != nil {
			raw, err := s.record()
			if err != nil {
				return nil, err
			}
			records[vid] = raw
		}
	}
	clear(ss.unkept)
	return records, nil
}

// again notes that records are to be written after all.
func (ss *scans) again(records map[hemera.VID][]byte) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for vid := range records {
		ss.unkept[vid] = true
	}
}

// list returns the scans as people see them, by VID.
func (ss *scans) list() (out []listedScan) {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	for _, vid := range slices.Sorted(maps.Keys(ss.all)) {
		s := ss.all[vid]
		one := listedScan{s.TapeScan, s.who, s.ordered(), s.cancelled}
		one.Counts, one.Found = maps.Clone(s.Counts), slices.Clone(s.Found)
		out = append(out, one)
	}
	return out
}

// listedScan is a scan as people see it.
type listedScan struct {
	adminapi.TapeScan
	who                string
	waiting, cancelled bool
}

// strike ends or forgets the scan of an order, in memory.
func (ss *scans) strike(who string, o adminapi.TapeOrder) string {
	ss.mu.Lock()
	defer ss.mu.Unlock()
	s := ss.all[hemera.VID(o.Subject)]
	switch {
	case s == nil || !s.Ended.IsZero() && s.Problem == "":
		return ""
	case o.DryRun:
		return "the scan would end; what it found stays in the catalogue"
	case !s.Ended.IsZero():
		ss.put(hemera.VID(o.Subject), nil)
		return "the scan that failed is forgotten"
	}
	s.cancel(ss.clock(), who)
	ss.put(hemera.VID(o.Subject), s)
	return "the scan ends; what it found stays in the catalogue"
}

// readScans makes the list of the scans that are stored.
func readScans(records [][]byte, clock func() time.Time) (*scans, error) {
	all := map[hemera.VID]*scan{}
	for _, raw := range records {
		s, err := readScan(raw)
		if err != nil {
			return nil, err
		}
		if s.Ended.IsZero() {
			s.waitAgain()
		}
		all[s.VID] = s
	}
	return &scans{clock: clock, all: all, unkept: map[hemera.VID]bool{}}, nil
}
