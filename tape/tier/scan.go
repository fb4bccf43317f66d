package tier

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"

	"hemera/tape/catalogue"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// A scan is ordered, gets the next drive of the tape's library that has
// nothing to do, and reports what it finds while it goes on. Each report is
// in the catalogue when it is answered, so a scan that was cut off begins
// again, and finds what is there.
//
// Two kinds of scans only look: a dry run, and one of a tape that the
// catalogue has as empty although this system labelled it. What is on such
// a tape was reclaimed, unless the catalogue is older than the tape.

// scan is one scan. It is guarded by the lock of the parts.
type scan struct {
	hemera.TapeScan
	order hemera.TapeOrder
	who   string
	mount uint64
	// cancelled: it ended because a person wanted it to.
	cancelled bool
	first     hemera.TapeWritten // of the last report: the same one means that it came again
	cut       int                // how often its mount was lost
}

// scanCutMax is how often a scan begins again whose mount was lost, before it has failed.
const scanCutMax = 3

// scanFindingsMax bounds what is shown of the files of a scan.
const scanFindingsMax = 200

// ordered reports whether the scan waits for a drive.
func (s *scan) ordered() bool { return s.Begun.IsZero() && s.Ended.IsZero() }

// Order has tapes scanned: one, or all that the libraries have.
func (t scanner) Order(ctx context.Context, who string, o hemera.TapeOrder) (string, error) {
	o.After = 0 // of scans that the manager orders itself
	f, err := t.facts(ctx)
	if err != nil {
		return "", err
	}
	text, err := t.enlist(f, who, o)
	if err != nil {
		return "", err
	}
	return text, t.keep(ctx)
}

// enlist adds the scans of an order to the list, and says what is done with them.
func (t scanner) enlist(f facts, who string, o hemera.TapeOrder) (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// A subject that no library has is an error; of all, each is there.
	vids := []string{o.Subject}
	if o.Subject == "" {
		vids = t.cartridges()
	}
	if len(vids) == 0 {
		return "", errs.New(errs.Unavailable, "tier.Scan", "", "no library reports a cartridge").
			WithRemedy("`hemera tape server ls` has the tape servers; one that has just started reports within seconds")
	}
	if o.Subject == "" && o.Only {
		vids = slices.DeleteFunc(vids, func(vid string) bool { return !f.waitsForScan(vid) })
	}
	ordered, locked := 0, 0
	for _, vid := range vids {
		if t.libraryOf(vid) == nil {
			return "", errs.New(errs.NotFound, "tier.Scan", vid, "no library that reports has the cartridge").WithRemedy("put it into a library; see `hemera tape drive ls`")
		}
		if s := t.scans[vid]; s != nil && s.Ended.IsZero() {
			if o.Subject != "" {
				return "", errs.New(errs.Exists, "tier.Scan", vid, "a scan of the tape waits, or goes on").WithRemedy("see how far it is: `hemera tape scan`")
			}
			continue
		}
		// Of all tapes the others are scanned, and the list of scans says why this one was not.
		lock := f.lockOf(vid)
		if lock != nil && o.Subject != "" {
			return "", lock
		}
		// In place of one that ended: people see the last scan of a tape.
		t.put(vid, &scan{TapeScan: hemera.TapeScan{VID: vid, DryRun: o.DryRun, Asked: t.now(), Counts: map[hemera.TapeOutcome]int64{}}, order: o, who: who})
		if lock != nil {
			s := t.scans[vid]
			s.Ended, s.Problem = t.now(), lockText(lock)
			locked++
			continue
		}
		ordered++
	}
	t.awake()
	text := fmt.Sprintf("%d tapes wait for a drive to scan them", ordered)
	if locked > 0 {
		text += fmt.Sprintf("; %d cannot be read without their keys", locked)
	}
	return text, nil
}

// waitsForScan reports whether a tape is not written until it was scanned.
func (f facts) waitsForScan(vid string) bool {
	return slices.ContainsFunc(f.tapes, func(tape hemera.Tape) bool { return tape.VID == vid && tape.Unscanned != "" })
}

// tail has the end of a tape scanned whose files behind the last one that is known keep it from being written.
func (t scanner) tail(ctx context.Context, vid string) error {
	f, err := t.facts(ctx)
	if err != nil {
		return err
	}
	o := hemera.TapeOrder{Kind: hemera.OrderScan, Subject: vid}
	for _, tape := range f.tapes {
		if tape.VID == vid {
			o.After = tape.LastFSeq
		}
	}
	// One that waits or goes on is as good; where none can be ordered, the tape says what it waits for.
	if _, err := t.enlist(f, hemera.SystemIdentity().Name, o); err != nil {
		return nil //nolint:nilerr // see above
	}
	return t.keep(ctx)
}

// stop ends the scan of a tape, or forgets one that failed. It says what it did,
// "" where there is none. A scan that a drive works on ends at its next
// report, which is refused.
func (t scanner) stop(ctx context.Context, who string, o hemera.TapeOrder) (string, error) {
	text := t.strike(who, o)
	if text == "" || o.DryRun {
		return text, nil
	}
	return text, t.keep(ctx)
}

// strike ends or forgets the scan of an order, in memory.
func (t scanner) strike(who string, o hemera.TapeOrder) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.scans[o.Subject]
	switch {
	case s == nil || !s.Ended.IsZero() && s.Problem == "":
		return ""
	case o.DryRun:
		return "the scan would end; what it found stays in the catalogue"
	case !s.Ended.IsZero():
		t.put(o.Subject, nil)
		return "the scan that failed is forgotten"
	}
	s.mount, s.Ended, s.Problem, s.cancelled = 0, t.now(), "cancelled by "+who, true
	t.put(o.Subject, s)
	t.awake()
	return "the scan ends; what it found stays in the catalogue"
}

// lockOf is what keeps a tape from being read: a key that is not there. It
// is nil for a tape that needs no key, and for one that is not in the catalogue.
func (f facts) lockOf(vid string) *errs.Error {
	for _, tape := range f.tapes {
		if l := f.keys.lock(tape.Key); tape.VID == vid && l.Key != "" {
			return errs.New(errs.Unavailable, "tier.Scan", vid, "the tape is encrypted with key "+l.Key+", which cannot be used: "+l.Why).
				WithRemedy("bring the key back: `hemera tape key add " + l.Key + " --from FILE`")
		}
	}
	return nil
}

// lockText is a lock as the problem of a scan.
func lockText(lock *errs.Error) string { return lock.Text + " (" + lock.Remedy + ")" }

// cartridges are the tapes of all libraries. The lock is held.
func (t scanner) cartridges() []string {
	// Those of servers that do not report could not be mounted.
	all := map[string]bool{}
	for _, l := range t.libraries {
		for vid := range l.state.VIDs {
			if t.online(l) && vid != "" {
				all[vid] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// wantsScan finds a tape that a drive can scan now. The lock is held.
func (t *dispatcher) wantsScan(f facts, l *library, d *drive, state hemera.TapeDriveState) *scan {
	if t.out(l, state) {
		return nil
	}
	// By VID, so that two drives come to the same order.
	for _, vid := range slices.Sorted(maps.Keys(t.scans)) {
		media, here := l.state.VIDs[vid]
		reads := media == "" || slices.Contains(state.Media, media) || slices.Contains(state.Reads, media)
		s := t.scans[vid]
		if !s.ordered() || !here || !reads || t.usedElsewhere(l, vid, state.Name) {
			continue
		}
		// A key may go between the order and the mount. It may come back too, so the scan waits.
		if lock := f.lockOf(vid); lock != nil {
			s.Why = lockText(lock)
			continue
		}
		s.Why = ""
		return s
	}
	return nil
}

// usedElsewhere reports whether another drive has a tape, or is about to
// have it. The lock is held.
func (t *dispatcher) usedElsewhere(l *library, vid, drive string) bool {
	// A drive that was just told has not reported the tape yet.
	for _, m := range t.mounts {
		if m.vid == vid && m.drive != drive {
			return true
		}
	}
	return slices.ContainsFunc(l.state.Drives, func(o hemera.TapeDriveState) bool { return o.VID == vid && o.Name != drive })
}

// beginScan makes the mount of a scan. The lock is held.
func (t *dispatcher) beginScan(l *library, d *drive, name string, s *scan, f facts) hemera.TapeMount {
	// Without a queue: nothing is reserved for it, and no turn is counted.
	m := t.begin(l, d, name, hemera.TapeMount{Kind: hemera.MountScan, VID: s.VID, Data: s.order.Data, After: s.order.After, Why: "a scan was asked for"}, f)
	s.mount, s.Begun, s.Drive = m.ID, t.now(), name
	return m
}

// end ends the scan of a mount that is over, if the mount is for a scan. The
// lock is held.
func (t scanner) end(m *mount, problem string) {
	s := t.scans[m.vid]
	// A scan that is complete has ended already.
	if s != nil && s.mount == m.id && s.Ended.IsZero() {
		s.Ended, s.Problem = t.now(), cmp.Or(problem, "the mount ended before the beginning of the tape was reached")
		t.put(m.vid, s)
	}
}

// lose has the scan of a mount wait for a drive again, as no report has ended the mount: its server died, or lost its way to the manager.
// A scan that this happens to again and again has failed. The lock is held.
func (t scanner) lose(m *mount) {
	s := t.scans[m.vid]
	if s == nil || s.mount != m.id || !s.Ended.IsZero() {
		return
	}
	if s.cut++; s.cut > scanCutMax {
		t.end(m, "")
		return
	}
	s.waitAgain()
}

// waitAgain is the scan before a drive began it.
func (s *scan) waitAgain() {
	s.TapeScan = hemera.TapeScan{VID: s.VID, DryRun: s.DryRun, Asked: s.Asked, Counts: map[hemera.TapeOutcome]int64{}}
	s.mount, s.first = 0, hemera.TapeWritten{}
}

// of returns the scan of a mount as it is.
func (t scanner) of(m *mount) (s *scan, now scan, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if m != nil {
		s = t.scans[m.vid]
	}
	if s == nil || s.mount != m.id {
		return nil, now, errs.New(errs.NotFound, "tier.Scan", "", "the scan is not known here: it was cancelled, or the manager was started since").
			WithRemedy("a scan that was not cancelled begins again by itself: what was found is in the catalogue already")
	}
	return s, *s, nil
}

// take records what a scan found. It may come twice.
func (t scanner) take(ctx context.Context, m *mount, r *hemera.TapeScanResults) error {
	s, now, err := t.of(m)
	if err != nil {
		return err
	}
	foreign, why, err := t.whose(ctx, &now, r.End)
	if err != nil {
		return err
	}
	if r.Blank {
		why = "the tape is new: nothing was ever written to it"
	}
	// In this order, so that a report that comes again finds what the first
	// one did: the tape, its rows, and only then what people see.
	looks := now.DryRun || why != ""
	tail := now.order.After > 0
	if !looks {
		end := r.End
		if tail {
			end.Bytes = 0 // of the tail alone: it is added at the end
		}
		tape, err := t.returns().NoteEnd(ctx, now.VID, now.Drive, end, func() hemera.Tape { return t.newTape(now.VID, now.who) })
		if err != nil {
			return err
		}
		foreign = tape.Foreign
	}
	// Most files of most scans are known, and cost one read.
	unknown, err := t.returns().Unknown(ctx, now.VID, r.Files)
	if err != nil {
		return err
	}
	found := catalogue.FoundFiles{VID: now.VID, Foreign: foreign, Who: now.who, DryRun: looks}
	if found.Files, err = t.formed(ctx, unknown); err != nil {
		return err
	}
	taken, err := t.returns().TakeFound(ctx, found)
	if err != nil {
		return err
	}
	if r.Complete && !now.DryRun {
		end := catalogue.ScanEnd{VID: now.VID, End: r.End, Tail: tail, Differs: t.differs(s, taken), Believe: now.order.Force, Looked: why != "" && !r.Blank}
		if err := t.returns().NoteScanned(ctx, end); err != nil {
			return err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	s.Why = why
	t.count(s, r, len(unknown), taken)
	return nil
}

// differs counts the files of a scan at whose place the catalogue has something else, with those of its last report.
func (t scanner) differs(s *scan, last []hemera.TapeTaken) int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := s.Counts[hemera.TookDiffers]
	for _, one := range last {
		if one.Outcome == hemera.TookDiffers {
			n++
		}
	}
	return n
}

// whose decides whether another system wrote the tape, and why nothing is
// taken from it, "" if it is. The state of a tape is that before the scan,
// or that which an earlier report left.
func (t scanner) whose(ctx context.Context, s *scan, end hemera.TapeEnd) (foreign bool, why string, err error) {
	// Read for each report: the first one makes the tape known.
	known, err := t.knownTapes(ctx)
	tape, ok := known[s.VID]
	switch {
	case err != nil:
		return false, "", err
	case !ok:
		return true, "", nil
	case tape.LastFSeq > 0 || tape.Labelled.IsZero() || s.order.Force || end.FSeq == 0:
		return tape.Foreign || tape.LastFSeq == 0 && tape.Labelled.IsZero(), "", nil
	// Anything but what was reclaimed was written since, by a life of the store that this one does not know.
	case tape.Unscanned != "" && (tape.ReclaimedFSeq != end.FSeq || tape.ReclaimedID != end.ArchiveID):
		return tape.Foreign, "", nil
	}
	return tape.Foreign, "the catalogue has the tape as empty, so what is on it was reclaimed: --force takes it all the same", nil
}

// newTape is a tape that the catalogue does not have yet.
func (t scanner) newTape(vid, who string) hemera.Tape {
	// What the label does not say is as for a tape that is added by name.
	tape := hemera.Tape{VID: vid, State: hemera.TapeActive, Pool: tapeconfig.DefaultName, Made: t.now(), MadeBy: who, Changed: t.now(), ChangedBy: who}
	(&configurer{t.parts}).known(&tape)
	tape.Capacity = int64(t.settings().Media[tape.MediaType].Capacity)
	return tape
}

// formed adds to files how their disk copies are to be stored: as new files
// of their directories.
func (t scanner) formed(ctx context.Context, files []hemera.TapeScanned) ([]catalogue.FoundFile, error) {
	// The form of a directory is that of all its files: nothing of a file itself
	// decides.
	out := make([]catalogue.FoundFile, 0, len(files))
	forms := map[string]catalogue.FoundFile{} // by directory: a tape has few of them
	for _, f := range files {
		dir := path.Dir(f.Path)
		form, ok := forms[dir]
		if !ok {
			var err error
			if form.Layout, form.Space, err = t.form(ctx, dir); err != nil {
				return nil, err
			}
			forms[dir] = form
		}
		form.TapeScanned = f
		out = append(out, form)
	}
	return out, nil
}

// count adds a report to what people see of a scan. The lock is held.
func (t scanner) count(s *scan, r *hemera.TapeScanResults, unknown int, taken []hemera.TapeTaken) {
	if r.Complete {
		s.Ended = t.now()
		t.put(s.VID, s)
	}
	if len(r.Files) == 0 {
		return
	}
	// No two files of a tape are at the same place.
	first := r.Files[0]
	if s.first == first.Written {
		return // the answer to it was lost
	}
	s.first = first.Written
	s.Counts[hemera.TookKnown] += int64(len(r.Files) - unknown)
	for _, f := range r.Files {
		s.Files, s.Bytes, s.FSeq = s.Files+1, s.Bytes+f.Written.Size, f.Written.FSeq
	}
	// What went well is counted, the rest told as far as there is room.
	for _, one := range taken {
		s.Counts[one.Outcome]++
		told := one.Outcome == hemera.TookKnown || one.Outcome == hemera.TookMade || one.Outcome == hemera.TookCopy
		if !told && len(s.Found) < scanFindingsMax {
			s.Found = append(s.Found, one)
		}
	}
}
