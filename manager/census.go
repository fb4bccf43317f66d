package manager

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"hemera/rules/layout"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

const (
	// censusPage is the number of files that one question lists, and censusBudget bounds those that one look at the
	// census goes through. A count that needs more goes on with the next look.
	censusPage   = 512
	censusBudget = 10_000
	// censusShare is the time for which a count is good while files change, as a multiple of the time that it took.
	censusShare = 20
	censusMax   = time.Minute
)

// holdings answers the questions of the census to the namespace.
type holdings interface {
	DiskFiles(ctx context.Context, disk hemera.DiskID, after hemera.FileID, limit int) ([]hemera.Entry, error)
	Incomplete(ctx context.Context, after hemera.FileID, limit int) ([]hemera.Entry, error)
	Resolve(ctx context.Context, id hemera.FileID) (hemera.Entry, string, error)
}

// tapeShelf answers the questions of the census to the tape tier.
type tapeShelf interface {
	// Troubled are the tapes that cannot be read, by VID.
	Troubled() []adminapi.TapeLoss
	// Silent says why no tape of a file can be read; "" if one can.
	Silent(e *hemera.Entry) string
}

// census counts files that lack pieces. It works only when it is asked, and goes through nothing but
// what the namespace lists for disks and tapes that cannot be read, and its index of incomplete files.
type census struct {
	files  holdings // the namespace
	tapes  func(ctx context.Context, vid hemera.VID, after uint64, dead bool) ([]tapeapi.File, error)
	now    func() time.Time
	broken func() ([]hemera.BadPiece, uint64) // the list, and its version

	turn sync.Mutex          // who counts; others take the last result
	mu   sync.Mutex          // guards last and its key
	last adminapi.FileHealth // the last whole count, or the zero value
	good censusKey           // what last depends on
	rest time.Time           // last is good until then, though files changed

	// Of who has the turn.
	under  *counting     // nil: none
	worked time.Duration // on it so far
}

// censusKey says what a count depends on.
type censusKey struct {
	absent string // the disks and tapes that cannot be read
	seq    uint64 // of the namespace
	broken uint64 // version of the list of broken pieces
}

// counting is a count under way: first the disks, then the incomplete files, then those with broken pieces, then the tapes.
type counting struct {
	key    censusKey    // what it depends on: another makes it void
	view   *hemera.View // on which files are judged
	broken brokenSet
	ruined []hemera.BadPiece // still to go through
	disks  []hemera.DiskID   // still to go through
	after  hemera.FileID     // of the list that is gone through
	shelf  tapeShelf
	tapes  []adminapi.TapeLoss      // still to go through
	fseq   uint64                   // of the tape that is gone through
	sizes  map[hemera.SpaceName]int // how many disks a space has
	sum    adminapi.FileHealth      // what was found so far
}

// newCounting begins a count: first the disks that cannot be read, then the incomplete files, then the broken pieces
// on the other disks, then the tapes that cannot be read.
func newCounting(key censusKey, view *hemera.View, shelf tapeShelf, disks []hemera.DiskID, broken []hemera.BadPiece) *counting {
	c := &counting{key: key, view: view, disks: disks, shelf: shelf, tapes: shelf.Troubled(), sizes: map[hemera.SpaceName]int{}, broken: newBrokenSet(broken)}
	for _, b := range broken {
		if !slices.Contains(disks, b.Disk) { // or it is counted with the disk
			c.ruined = append(c.ruined, b)
		}
	}
	for _, d := range view.Disks {
		c.sizes[d.Space]++
	}
	return c
}

// look returns the newest count, and brings it up to date as far as the budget allows.
func (c *census) look(ctx context.Context, view *hemera.View, shelf tapeShelf, seq uint64) (adminapi.FileHealth, error) {
	disks, absent := unreadable(view)
	for _, t := range shelf.Troubled() {
		absent += "\n" + t.Why
	}
	broken, version := c.broken()
	key := censusKey{absent, seq, version}
	c.mu.Lock()
	last, good, rest := c.last, c.good, c.rest
	c.mu.Unlock()
	// Without a change of disks or of broken pieces, files that are written or removed make a count outdated only slowly.
	fresh := good == key || good.absent == absent && good.broken == version && c.now().Before(rest)
	last.Partial = last.Taken.IsZero()
	// A caller never waits for another's count: it takes the last one, which is marked Partial if there is none.
	if !last.Partial && fresh || !c.turn.TryLock() {
		return last, nil
	}
	defer c.turn.Unlock()
	// The sequence does not matter here: with it a busy namespace would never let a long count end.
	if c.under == nil || c.under.key.absent != absent || c.under.key.broken != version {
		c.under, c.worked = newCounting(key, view, shelf, disks, broken), 0
	}
	began := c.now()
	done, err := c.under.run(ctx, c, censusBudget)
	c.worked += c.now().Sub(began)
	if err != nil {
		return last, err
	}
	sum := c.under.sum
	sum.Taken, sum.Partial = c.now(), !done
	if !done && good.absent == absent && good.broken == version && !last.Partial {
		return last, nil // a whole count of the same disks says more
	}
	if done {
		c.mu.Lock()
		c.last, c.good, c.rest = sum, c.under.key, c.now().Add(min(censusShare*c.worked, censusMax))
		c.mu.Unlock()
		c.under = nil
	}
	return sum, nil
}

// unreadable returns the disks that pieces may be on and cannot be read from, ordered by id.
func unreadable(v *hemera.View) (ids []hemera.DiskID, key string) {
	for _, d := range v.Disks {
		if !d.Readable() {
			// Files may have pieces there that cannot be read now.
			ids = append(ids, d.ID)
		}
	}
	for _, d := range v.Removed {
		ids = append(ids, d.ID)
	}
	slices.Sort(ids)
	var text []byte
	for _, id := range ids {
		// The key is compared and never read: an id has 32 bits.
		text = append(text, byte(id), byte(id>>8), byte(id>>16), byte(id>>24))
		if slices.ContainsFunc(v.Removed, func(r hemera.RemovedDisk) bool { return r.ID == id }) {
			// The same disk counts otherwise once it was removed: unreadable becomes lost.
			text = append(text, 'r')
		}
	}
	return ids, string(text)
}

// run counts until all is counted or the budget is used up.
func (c *counting) run(ctx context.Context, of *census, budget int) (done bool, err error) {
	files := of.files
	// The budget is in files. A page may exceed it by itself.
	for budget > 0 {
		var page []hemera.Entry
		if len(c.disks) > 0 {
			page, err = files.DiskFiles(ctx, c.disks[0], c.after, censusPage)
		} else {
			page, err = files.Incomplete(ctx, c.after, censusPage)
		}
		if err != nil {
			return false, err
		}
		switch {
		case len(page) == 0 && len(c.disks) == 0:
			return c.rest(ctx, of, budget)
		case len(page) == 0:
			// The disk is done; the next page is the next disk's first, or the first of the incomplete files.
			c.disks, c.after = c.disks[1:], 0
			continue
		}
		for _, e := range page {
			c.after = e.ID
			if len(c.disks) > 0 {
				c.absent(e, c.disks[0])
			} else {
				c.short(ctx, files, e)
			}
		}
		budget -= len(page)
	}
	return false, nil
}

// rest counts what is not on the lists of disks, as run does.
func (c *counting) rest(ctx context.Context, of *census, budget int) (done bool, err error) {
	budget, err = c.ruins(ctx, of.files, budget)
	for err == nil && budget > 0 && len(c.ruined)+len(c.tapes) > 0 {
		budget, err = c.onTape(ctx, of, budget)
	}
	return err == nil && len(c.ruined)+len(c.tapes) == 0, err
}

// onTape counts files of a tape that cannot be read, and have no other copy that can. It returns what is left of the budget.
func (c *counting) onTape(ctx context.Context, of *census, budget int) (int, error) {
	t := &c.tapes[0]
	page, err := of.tapes(ctx, t.VID, c.fseq, false)
	if err != nil {
		return budget, err
	}
	for _, f := range page {
		c.fseq = f.FSeq
		e, _, err := of.files.Resolve(ctx, f.File)
		if err != nil && !errors.Is(err, errs.NotFound) {
			return budget, err
		}
		if err == nil && silentAt(c.shelf, &e, t.VID) {
			t.Unreadable++
			c.sum.UnreadableOnTape++
			c.sum.Unreadable++
			c.sum.UnreadableBytes += e.Size
		}
	}
	if len(page) == 0 {
		if t.Unreadable > 0 {
			c.sum.Tapes = append(c.sum.Tapes, *t)
		}
		c.tapes, c.fseq = c.tapes[1:], 0
	}
	return budget - len(page), nil
}

// silentAt reports whether a file is on tapes alone, none of these tapes can be read, and this tape is the first of them.
func silentAt(shelf tapeShelf, e *hemera.Entry, vid hemera.VID) bool {
	if !e.Evicted() || shelf.Silent(e) == "" {
		return false
	}
	first := slices.MinFunc(e.Tape, func(a, b hemera.TapeCopy) int { return strings.Compare(string(a.VID), string(b.VID)) })
	return first.VID == vid
}

// ruins counts the files with broken pieces on disks that can be read. It returns what is left of the budget.
func (c *counting) ruins(ctx context.Context, files holdings, budget int) (int, error) {
	for ; len(c.ruined) > 0 && budget > 0; budget-- {
		b := c.ruined[0]
		e, _, err := files.Resolve(ctx, b.Piece.File)
		if err != nil && !errors.Is(err, errs.NotFound) {
			return budget, err
		}
		c.ruined = c.ruined[1:]
		if err != nil || e.Gen != b.Piece.Gen || !slices.Contains(e.Pieces, hemera.Piece{Index: b.Piece.Index, Disk: b.Disk}) {
			continue
		}
		// absent judges the whole file. Only what it adds to Lost is ruined: a file with a good piece elsewhere is not.
		before := c.sum.Lost
		c.absent(e, b.Disk)
		c.sum.Ruined += c.sum.Lost - before
	}
	return budget, nil
}

// absent counts a file that is listed for a disk which cannot be read.
func (c *counting) absent(e hemera.Entry, disk hemera.DiskID) {
	s, first := stand(c.view, e, c.broken)
	if s == readable {
		if first == disk {
			c.sum.Degraded++
			c.frail(e)
		}
		return
	}
	at := len(c.sum.Disks) - 1
	if at < 0 || c.sum.Disks[at].Disk != disk {
		// Files of one disk come together, so its row is the last one.
		c.sum.Disks = append(c.sum.Disks, adminapi.DiskLoss{Disk: disk})
		at++
	}
	// A file is on the list of each of its disks, and counts there. The sums have it once, at the lowest of those that do not serve it.
	once := first == disk
	if s == lostFile {
		c.sum.Disks[at].Lost++
		if once {
			c.sum.Lost++
			c.sum.LostBytes += e.Size
		}
		return
	}
	c.sum.Disks[at].Unreadable++
	if once {
		c.sum.Unreadable++
		c.sum.UnreadableBytes += e.Size
	}
}

// frail counts a file that can be read, if the loss of one more piece may end that.
func (c *counting) frail(e hemera.Entry) {
	if here := readableNow(c.view, e, c.broken); slices.ContainsFunc(e.Pieces, func(p hemera.Piece) bool {
		return here.Has(int(p.Index)) && !layout.Readable(e.Layout, e.Size, here.Without(int(p.Index)))
	}) {
		c.sum.Frail++
	}
}

// unmetMax bounds how many layouts are told apart.
const unmetMax = 20

// short counts an incomplete file.
func (c *counting) short(ctx context.Context, files holdings, e hemera.Entry) {
	s, first := stand(c.view, e, c.broken)
	if s != readable {
		return // it is counted as what is worse
	}
	c.sum.Incomplete++
	// One with a piece that cannot be read is counted with the degraded ones.
	if first == 0 {
		c.frail(e)
	}
	have := c.sizes[e.Space]
	// The space has disks for it: repair is on its way, or waits for room.
	if have >= layout.Count(e.Layout, e.Size) {
		return
	}
	i := slices.IndexFunc(c.sum.Unmet, func(u adminapi.UnmetLayout) bool { return u.Space == e.Space && u.Pieces == e.Layout.Pieces })
	if i < 0 {
		if len(c.sum.Unmet) == unmetMax {
			return
		}
		_, path, _ := files.Resolve(ctx, e.ID)
		c.sum.Unmet = append(c.sum.Unmet, adminapi.UnmetLayout{Space: e.Space, Pieces: e.Layout.Pieces, Disks: have, Path: path})
		i = len(c.sum.Unmet) - 1
	}
	c.sum.Unmet[i].Files++
}
