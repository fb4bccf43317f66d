package tier

import (
	"context"
	"fmt"
	"path"
	"slices"

	"hemera/tape/catalogue"
	"hemera/tape/tapeconfig"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A scan is ordered, gets the next drive of the tape's library that has
// nothing to do, and reports what it finds while it goes on. Each report is
// in the catalogue when it is answered, so a scan that was cut off begins
// again, and finds what is there.
//
// Two kinds of scans only look: a dry run, and one of a tape that the
// catalogue has as empty although this system labelled it. What is on such
// a tape was reclaimed, unless the catalogue is older than the tape.

// scanner has tapes scanned, takes what is found, and brings files back.
type scanner struct {
	env       *env
	settings  *settings
	libraries *libraries
	scans     *scans
	inventory *inventory
}

// Order has tapes scanned: one, or all that the libraries have.
func (t *scanner) Order(ctx context.Context, who string, o adminapi.TapeOrder) (string, error) {
	o.After = 0 // of scans that the manager orders itself
	f, err := t.inventory.facts(ctx)
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
func (t *scanner) enlist(f facts, who string, o adminapi.TapeOrder) (string, error) {
	// A subject that no library has is an error; of all, each is there.
	vids := []hemera.VID{hemera.VID(o.Subject)}
	if o.Subject == "" {
		vids = f.fleet.mountable()
	}
	if len(vids) == 0 {
		return "", errs.New(errs.Unavailable, "tier.Scan", "", "no library reports a cartridge").
			WithRemedy("`hemera tape server ls` has the tape servers; one that has just started reports within seconds")
	}
	if o.Subject == "" && o.Only {
		vids = slices.DeleteFunc(vids, func(vid hemera.VID) bool { return !f.waitsForScan(vid) })
	}
	ordered, locked, err := t.scans.enlist(f, vids, who, o)
	if err != nil {
		return "", err
	}
	t.env.wake.ring()
	text := fmt.Sprintf("%d tapes wait for a drive to scan them", ordered)
	if locked > 0 {
		text += fmt.Sprintf("; %d cannot be read without their keys", locked)
	}
	return text, nil
}

// tail has the end of a tape scanned whose files behind the last one that is known keep it from being written.
func (t *scanner) tail(ctx context.Context, vid hemera.VID) error {
	f, err := t.inventory.facts(ctx)
	if err != nil {
		return err
	}
	o := adminapi.TapeOrder{Kind: adminapi.OrderScan, Subject: string(vid)}
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
func (t *scanner) stop(ctx context.Context, who string, o adminapi.TapeOrder) (string, error) {
	text := t.scans.strike(who, o)
	if text == "" || o.DryRun {
		return text, nil
	}
	t.env.wake.ring()
	return text, t.keep(ctx)
}

// take records what a scan found. It may come twice.
func (t *scanner) take(ctx context.Context, m *mount, r *tapeapi.ScanResults) error {
	s, now, err := t.scans.of(m)
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
		tape, err := t.env.catalogue.NoteEnd(ctx, now.VID, now.Drive, end, func() tapeapi.Tape { return t.newTape(now.VID, now.who) })
		if err != nil {
			return err
		}
		foreign = tape.Foreign
	}
	// Most files of most scans are known, and cost one read.
	unknown, err := t.env.catalogue.Unknown(ctx, now.VID, r.Files)
	if err != nil {
		return err
	}
	found := catalogue.FoundFiles{VID: now.VID, Foreign: foreign, Who: now.who, DryRun: looks}
	if found.Files, err = t.formed(ctx, unknown); err != nil {
		return err
	}
	taken, err := t.env.catalogue.TakeFound(ctx, found)
	if err != nil {
		return err
	}
	if r.Complete && !now.DryRun {
		end := catalogue.ScanEnd{VID: now.VID, End: r.End, Tail: tail, Differs: t.scans.differs(s, taken), Believe: now.order.Force, Looked: why != "" && !r.Blank}
		if err := t.env.catalogue.NoteScanned(ctx, end); err != nil {
			return err
		}
	}
	t.scans.count(s, why, r, len(unknown), taken)
	return nil
}

// whose decides whether another system wrote the tape, and why nothing is
// taken from it, "" if it is. The state of a tape is that before the scan,
// or that which an earlier report left.
func (t *scanner) whose(ctx context.Context, s *scan, end tapeapi.End) (foreign bool, why string, err error) {
	// Read for each report: the first one makes the tape known.
	known, err := t.env.knownTapes(ctx)
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

// newTape returns a tape that the catalogue does not have yet.
func (t *scanner) newTape(vid hemera.VID, who string) tapeapi.Tape {
	// What the label does not say is as for a tape that is added by name.
	tape := tapeapi.Tape{VID: vid, State: tapeapi.Active, Pool: tapeconfig.DefaultName, Made: t.env.now(), MadeBy: who, Changed: t.env.now(), ChangedBy: who}
	t.libraries.now().describe(&tape)
	tape.Capacity = int64(t.settings.now().Config.Media[tape.MediaType].Capacity)
	return tape
}

// formed adds to files how their disk copies are to be stored: as new files
// of their directories.
func (t *scanner) formed(ctx context.Context, files []tapeapi.Scanned) ([]catalogue.FoundFile, error) {
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
		form.Scanned = f
		out = append(out, form)
	}
	return out, nil
}

// keep writes the records of scans that were ordered, have ended or were
// forgotten. What could not be written is written with the next one.
func (t *scanner) keep(ctx context.Context) error {
	// In turn: an older state must not be written over a newer one.
	release, err := t.settings.take(ctx, "scans")
	if err != nil {
		return err
	}
	defer release()
	records, err := t.scans.unwritten()
	if err == nil && len(records) > 0 {
		err = t.env.catalogue.PutScans(ctx, records)
	}
	if err == nil {
		return nil
	}
	t.scans.again(records)
	return errs.Wrap(err, "tier.Scan", "")
}
