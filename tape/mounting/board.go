package mounting

import (
	"cmp"
	"slices"
	"time"

	"hemera/words/tapeapi"
)

// Board is an indexed picture, on which drives get their work one after the other. It is not safe for concurrent use.
type Board struct {
	now      time.Time
	criteria Criteria
	rates    Rates
	disabled map[string]string // libraries
	buffer   Buffer
	reserved int64    // of the buffer, by sessions that run
	order    []*entry // all queues, in the order of service
	queues   map[Key]*entry
	loads    map[string]*load // by organisation
	stock    stock
	drives   map[string]*Drive // copies, which Begin changes
	names    []string          // of drives, sorted
}

// entry is a queue with what it refers to.
type entry struct {
	*Queue
	tape    *tape // that it reads, nil if it writes or if there is no such tape
	load    *load
	mounts  int64 // drives that work on it
	holders int64 // idle drives that hold a tape which it can write: they need no mount, so they go first
}

// load is the number of drives of an organisation.
type load struct {
	limits           Organisation
	limited          bool
	reading, writing int64
}

// New indexes a picture. It keeps none of its parts but the maps, which must not change afterwards.
func New(p Picture) *Board {
	b := &Board{
		now: p.Now, criteria: p.Criteria, rates: p.Rates, disabled: p.Libraries, buffer: p.Buffer,
		queues: make(map[Key]*entry, len(p.Queues)), loads: map[string]*load{}, drives: make(map[string]*Drive, len(p.Drives)),
		stock: newStock(p.Pools, p.Tapes),
	}
	b.addDrives(p.Drives)
	for name, limits := range p.Organisations {
		b.load(name).limits, b.load(name).limited = limits, true
	}
	// Organisations and tapes are looked up once, as decisions go through all queues.
	entries := make([]entry, len(p.Queues))
	for i := range p.Queues {
		q := p.Queues[i]
		e := &entries[i]
		*e = entry{Queue: &q, load: b.load(q.Organisation)}
		if !q.Writes() {
			e.tape = b.stock.tapes[q.VID]
		}
		b.queues[q.Key] = e
		b.order = append(b.order, e)
	}
	slices.SortFunc(b.order, before)
	// At last, because it counts at queues.
	b.addWork()
	return b
}

// before orders queues: which one a drive that can serve both serves first.
func before(x, y *entry) int {
	return cmp.Or(
		cmp.Compare(y.Priority, x.Priority),
		cmp.Compare(rank(x.Kind), rank(y.Kind)),
		x.Oldest.Compare(y.Oldest),
		cmp.Compare(x.Pool, y.Pool),
		cmp.Compare(x.VID, y.VID),
	)
}

// rank orders kinds of equal priority. Files that are not archived yet have no copy on tape, so they go first.
func rank(k tapeapi.JobKind) int {
	switch k {
	case tapeapi.Archive:
		return 0
	case tapeapi.Recall:
		return 1
	case tapeapi.Repack:
		return 2
	}
	return 3
}

// load returns the drives of an organisation, which begins without limits.
func (b *Board) load(name string) *load {
	if b.loads[name] == nil {
		b.loads[name] = &load{}
	}
	return b.loads[name]
}

// addDrives indexes drives and what they hold.
func (b *Board) addDrives(drives []Drive) {
	for _, d := range drives {
		b.drives[d.Name] = &d
		b.names = append(b.names, d.Name)
		if t := b.stock.tapes[d.VID]; t != nil {
			t.drive = &d
		}
		b.stock.addWriter(&d)
	}
	slices.Sort(b.names)
}

// addWork counts what drives do and hold.
func (b *Board) addWork() {
	for _, name := range b.names {
		d := b.drives[name]
		if d.Work != nil {
			b.count(d.Work, 1)
		} else {
			b.hold(d, 1)
		}
	}
}

// count adds the work of a drive to its organisation and queue, or removes it.
func (b *Board) count(w *Work, n int64) {
	l := b.load(w.Organisation)
	if w.Queue.Writes() {
		l.writing += n
	} else {
		l.reading += n
	}
	b.reserved += n * w.Reserved
	if e := b.queues[w.Queue]; e != nil {
		e.mounts += n
	}
}

// hold notes at queues that an idle drive holds a tape that they can write, or no longer does.
func (b *Board) hold(d *Drive, n int64) {
	t := b.stock.tapes[d.VID]
	if !d.Up || b.isDisabled(d.Library) || t == nil || !t.writable() || !takes(d, t.Media, true) {
		return
	}
	// These kinds write.
	for _, kind := range []tapeapi.JobKind{tapeapi.Archive, tapeapi.Repack} {
		if e := b.queues[Key{Kind: kind, Pool: t.Pool}]; e != nil {
			e.holders += n
		}
	}
}
