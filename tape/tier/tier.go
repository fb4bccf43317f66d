package tier

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"hemera/namespace"
	"hemera/platform/contain"
	"hemera/platform/turns"
	"hemera/tape/catalogue"
	"hemera/tape/mounting"
	"hemera/tape/tapeconfig"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Granter permits transfers between disks and tape servers; the manager
// is one.
type Granter interface {
	// GrantArchive permits a tape server to read a file. NoReplicas.
	GrantArchive(ctx context.Context, e hemera.Entry, path string) (hemera.TapeGrant, error)
	// GrantRecall permits to write the content of a file that is on tape
	// only, as a conversion. Conflict, NoSpace. Its disks count as written to
	// until end is called, once; end is nil with an error.
	GrantRecall(ctx context.Context, id hemera.FileID, gen hemera.Generation) (g hemera.TapeGrant, end func(), err error)
}

// Options is what a tier is made of.
type Options struct {
	Tree   namespace.Parts
	Grants Granter
	// Removed is called when pieces are to be removed; nil: nobody needs to
	// know.
	Removed func()
	// Secrets keeps the secrets of encryption keys; nil: there are none.
	Secrets Secrets
	// View is the cluster now, whose disks are the buffer of tape: files are
	// evicted where room is needed, and recalls wait for it. nil: neither.
	View func() *hemera.View
	// Paused reports whether drives do nothing but scan, as during a rebuild; nil: never.
	Paused func() bool
	Now    func() time.Time
	Log    *slog.Logger
	// Panics contains panics of what time does and of the work on one of many files. May be nil.
	Panics *contain.Panics
	// Turns are those of users whose calls ask for much. Nil: the tier's own.
	Turns *turns.Limiter
}

// Tier is the tape tier as the manager has it. Each of its parts does one
// kind of work; all of them share what [Open] makes once. Its methods may
// be called from any goroutine.
type Tier struct {
	*configurer // configuration, tapes, drives
	*dispatcher // what drives do next
	*giver      // jobs for mounts
	*recorder   // what mounts did
	*stager     // files to disk and away, for users
	*reporter   // what people see
	*orderer    // what admins order once
	*sweeper    // what time does
	*parts
}

// The parts. Each is the shared state with methods of its own.
// configurer, dispatcher, giver and recorder serve tape servers and admins;
// stager serves users. reporter, orderer and sweeper have their files too.
type (
	configurer struct{ *parts }
	dispatcher struct{ *parts }
	giver      struct{ *parts }
	recorder   struct{ *parts }
	stager     struct {
		*parts
		reports *reporter
	}
	reporter struct{ *parts }
	orderer  struct{ *parts }
	sweeper  struct {
		*parts
		gc *collector
		releasing
	}
)

// parts is what they share.
type parts struct {
	Options
	catalogue *catalogue.Catalogue

	// changing is held by a call that changes the configuration, over the
	// write to the store: it is a turn and not a mutex, as it is held over
	// I/O.
	changing chan struct{}

	stages *stages // requests to stage that are remembered

	// mu guards all below. It is never held over I/O: decisions are computed
	// under it.
	mu        sync.Mutex
	libraries map[hemera.NodeID]*library
	asking    map[hemera.NodeID]string // nodes that are not admitted as tape servers, and their libraries
	heard     bool                     // of a library, since the start
	mounts    map[uint64]*mount
	issued    map[uint64]catalogue.Mount   // what drives were given last, as it is stored
	given     map[hemera.TapeJobKey]uint64 // to which mount
	room      buffer                       // on disks, for recalls
	scans     map[string]*scan             // by VID; those that ended too
	unkept    map[string]bool              // VIDs of scans whose record is older than the scan
	unread    map[string]time.Time         // by VID: when files of a tape are read back again, after that did not reach its end
	returned  returned                     // tapes whose files may lose their disk copies now
	lastMount uint64
	history   history
	wake      chan struct{} // closed, and replaced, when there may be something new to do
}

// Open reads the configuration; a system that has none gets one that
// archives without any set-up.
func Open(ctx context.Context, o Options) (*Tier, error) {
	if o.Turns == nil {
		o.Turns = turns.New()
	}
	t := &parts{Options: o, catalogue: o.Tree.Tapes, changing: make(chan struct{}, 1), libraries: map[hemera.NodeID]*library{}, asking: map[hemera.NodeID]string{},
		mounts: map[uint64]*mount{}, issued: map[uint64]catalogue.Mount{}, given: map[hemera.TapeJobKey]uint64{}, scans: map[string]*scan{}, unkept: map[string]bool{}, unread: map[string]time.Time{}, returned: returned{}, wake: make(chan struct{})}
	raw, err := t.catalogue.Config(ctx)
	if err != nil {
		return nil, errs.Wrap(err, "tier.Open", "")
	}
	config := tapeconfig.Defaults()
	if raw != nil {
		if config, err = tapeconfig.Decode(raw); err != nil {
			return nil, errs.As(err, errs.Corrupt, "tier.Open", "the configuration of tapes")
		}
	}
	t.catalogue.Adopt(&tapeconfig.Settings{Config: config, Names: lookUpNames(config.Rules)})
	if err := (scanner{t}).load(ctx); err != nil {
		return nil, err
	}
	issued, err := t.catalogue.Mounts(ctx)
	if err != nil {
		return nil, errs.Wrap(err, "tier.Open", "")
	}
	for _, m := range issued {
		t.issued[m.ID] = m
	}
	if err := t.noteReturned(ctx); err != nil {
		return nil, errs.Wrap(err, "tier.Open", "")
	}
	stored, err := t.catalogue.Stages(ctx)
	if err != nil {
		return nil, errs.Wrap(err, "tier.Open", "")
	}
	t.stages = newStages(stored)
	t.room = buffer{o.View, func(space string) int64 { return t.settings().BufferOf(space).Keep }, map[string]int64{}, map[mounting.Key]fill{}}
	// Ids of mounts grow over restarts, so that a report of an old mount is
	// not taken for one of a new.
	t.lastMount = uint64(o.Now().UnixNano())
	reports := &reporter{t}
	return &Tier{&configurer{t}, &dispatcher{t}, &giver{t}, &recorder{t}, &stager{t, reports}, reports, &orderer{t}, &sweeper{parts: t, gc: newCollector(t)}, t}, nil
}

// awake tells everybody who waits that something changed. The lock is
// held.
func (t *parts) awake() {
	close(t.wake)
	t.wake = make(chan struct{})
}

// Awake tells drives that wait for work that there may be some: a commit
// has queued a file.
func (t *parts) Awake() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.awake()
}

// settings returns the configuration as it is now.
func (t *parts) settings() tapeconfig.Config { return t.catalogue.Settings().Config }

// now is the time as it is stored.
func (t *parts) now() time.Time { return t.Now().UTC().Round(time.Second) }

// Tapes implements hemera.TapeAdmin.
func (t *configurer) Tapes(ctx context.Context) ([]hemera.Tape, error) {
	all, err := t.tapes(ctx)
	for i := range all {
		for _, kind := range []hemera.TapeOrderKind{hemera.OrderRepack, hemera.OrderCheck} {
			at := taskOf(&all[i], kind)
			if *at == nil || err != nil {
				continue
			}
			task := **at // the record is shared
			task.Waits, err = tasker{&orderer{t.parts}}.waits(ctx, all[i].VID, kind)
			*at = &task
		}
	}
	return all, err
}

// tapes lists the tapes of the catalogue. What a library tells of its
// cartridges is truer than what the media type says, or an admin did.
func (t *parts) tapes(ctx context.Context) ([]hemera.Tape, error) {
	all, err := t.catalogue.Tapes(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	for i := range all {
		if l := t.libraryOf(all[i].VID); l != nil && l.state.Capacities[all[i].VID] > 0 {
			all[i].Capacity = l.state.Capacities[all[i].VID]
		}
	}
	return all, err
}

// TapeFiles implements hemera.TapeAdmin.
func (t *configurer) TapeFiles(ctx context.Context, vid string, after uint64, dead bool) ([]hemera.TapeFile, error) {
	const page = 1000
	return t.catalogue.Files(ctx, vid, after, page, dead)
}
