package tier

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"hemera/namespace"
	"hemera/platform/contain"
	"hemera/platform/fairshare"
	"hemera/tape/catalogue"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// Granter permits transfers between disks and tape servers; the manager
// is one.
type Granter interface {
	// GrantArchive permits a tape server to read a file. NoReplicas.
	GrantArchive(ctx context.Context, e hemera.Entry, path string) (tapeapi.Grant, error)
	// GrantRecall permits to write the content of a file that is on tape
	// only, as a conversion. Conflict, NoSpace. Its disks count as written to
	// until end is called, once; end is nil with an error.
	GrantRecall(ctx context.Context, id hemera.FileID, gen hemera.Generation) (g tapeapi.Grant, end func(), err error)
}

// Options has the parts and settings of a tier.
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
	Turns *fairshare.Limiter
}

// env has the services that the tier gets from outside. It does not change after Open.
type env struct {
	Options
	catalogue *catalogue.Catalogue
	wake      *bell
}

// now returns the time as it is stored.
func (e *env) now() time.Time { return e.Now().UTC().Round(time.Second) }

// knownTapes returns all tapes by VID.
func (e *env) knownTapes(ctx context.Context) (map[hemera.VID]tapeapi.Tape, error) {
	all, err := e.catalogue.Tapes(ctx)
	out := make(map[hemera.VID]tapeapi.Tape, len(all))
	for _, tape := range all {
		out[tape.VID] = tape
	}
	return out, err
}

// tape returns a tape by its VID.
func (e *env) tape(ctx context.Context, vid hemera.VID) (tape tapeapi.Tape, err error) {
	known, err := e.knownTapes(ctx)
	if err != nil {
		return tape, err
	}
	tape, ok := known[vid]
	if !ok {
		return tape, errs.New(errs.NotFound, "tier.Order", string(vid), "the tape is not in the catalogue").WithRemedy("see `hemera tape tape ls`")
	}
	return tape, nil
}

// placedWork is a job, whether its file is on disk, the disk of its first
// piece, and the room that it takes on disks.
type placedWork struct {
	onDisk bool
	disk   hemera.DiskID
	fill   fill
	tapeapi.Work
}

// work adds to a job what labels, indexes and checks need. Conflict when
// its content is gone.
func (e *env) work(ctx context.Context, j tapeapi.Job) (w placedWork, err error) {
	f, path, err := e.Tree.Resolve(ctx, j.File)
	if err != nil {
		return w, err
	}
	if f.ArchiveID() != j.ArchiveID {
		return w, errs.New(errs.Conflict, "tier.Work", path, "the file has another content now")
	}
	w = placedWork{!f.Evicted(), 0, fillOf(&f), tapeapi.Work{Job: j, Path: path, Checksum: f.Checksums, Owner: hemera.FileOwner{UID: f.UID, GID: f.GID, Mode: f.Mode}, Mtime: f.Mtime, Class: f.StorageClass()}}
	if len(f.Pieces) > 0 {
		w.disk = f.Pieces[0].Disk
	}
	return w, nil
}

// atOnce bounds the changes of one call that are under way: as many as a
// group commit takes with one sync, and few beside what others ask for.
const atOnce = 64

// together does something for each of n things, several at once, and
// returns the first error. Each is a change of its own that waits for a
// sync; one after the other, a request of a thousand files takes as many
// syncs, and together a few dozen.
func (e *env) together(n int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i := range n {
		group.Go(e.Panics.Func("tier.Change", "", func() error { return do(i) }))
	}
	return group.Wait()
}

// bell wakes drives that wait for work.
type bell struct {
	mu   sync.Mutex
	rung chan struct{} // closed, and replaced, with each ring
}

// ring wakes all that wait now.
func (b *bell) ring() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.rung)
	b.rung = make(chan struct{})
}

// next returns a channel that the next ring closes.
func (b *bell) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rung
}
