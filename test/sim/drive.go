package sim

import (
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"hemera/disk"
	"hemera/platform/vfs"
	"hemera/rules/layout"
	"hemera/test/sim/simdisk"
	"hemera/test/sim/simnet"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// drive is one device of a machine: it outlives processes and power cuts.
// Its fields are set once but for the atomics, which the nemesis changes while calls go on.
type drive struct {
	path    string                        // on its machine, such as /disk0
	memory  *vfs.Memory                   // what it holds, and what of that is synced
	faulty  *vfs.Faulty                   // memory, with the faults that the nemesis injects
	now     func() time.Time              // the machine's clock
	gone    atomic.Bool                   // taken away for good: every call fails
	slow    atomic.Int64                  // nanoseconds a call may take
	hung    atomic.Pointer[chan struct{}] // closed when the drive answers again; nil while it does
	store   atomic.Pointer[store]         // as the last life opened it
	changes atomic.Uint64                 // the greatest number of its label that a node saw
	served  sync.Map                      // pieceKey of each piece that a node made or opened here
}

// pieceKey names the pieces of one generation of a file, without their index.
type pieceKey struct {
	file hemera.FileID
	gen  hemera.Generation
}

// serves notes that a node has a piece here: the manager may name the drive to readers from now on.
func (d *drive) serves(id hemera.PieceID) { d.served.Store(pieceKey{id.File, id.Gen}, true) }

// hasServed reports whether an old grant may still send a reader here for a piece of the file.
func (d *drive) hasServed(id hemera.PieceID) bool {
	_, ok := d.served.Load(pieceKey{id.File, id.Gen})
	return ok
}

// newDrive makes an empty drive with a file system in memory, with room for size bytes; 0 is without limit.
func newDrive(path string, size int64, now func() time.Time) (*drive, error) {
	d := &drive{path: path, memory: vfs.NewMemory(size, now), now: now}
	d.faulty = vfs.NewFaulty(d.memory)
	if err := d.memory.Mkdir(path); err != nil {
		return nil, err
	}
	// The directory must survive the first power cut.
	return d, d.memory.SyncDir("/")
}

// remove takes the drive away with everything on it; handles die.
// Calls fail before the content goes, so none sees an empty drive.
func (d *drive) remove() {
	d.gone.Store(true)
	d.memory.Crash(nil)
}

// files lists what the drive holds but its label, with whole names.
func (d *drive) files() (names []string) {
	// A drive whose content is gone lists nothing.
	top, _ := d.memory.ReadDir(d.path)
	for _, dir := range top {
		in, err := d.memory.ReadDir(d.path + "/" + dir)
		if err != nil {
			continue
		}
		for _, name := range in {
			names = append(names, d.path+"/"+dir+"/"+name)
		}
	}
	return names
}

// rot flips some bits of some sealed pieces.
// It spares pending pieces: those are not acknowledged, so nobody promised them.
func (d *drive) rot(rng *rand.Rand) (count int) {
	for _, name := range d.files() {
		info, err := d.memory.Stat(name)
		// One in three, so that most files keep a good replica even if the drive holds many.
		if err != nil || info.Size == 0 || strings.Contains(name, "/pending/") || rng.IntN(3) != 0 {
			continue
		}
		if d.memory.Corrupt(name, rng.Int64N(info.Size), 1<<rng.IntN(8)) == nil {
			count++
		}
	}
	return count
}

// openDisk opens the drive as a node does, for one of its lives.
// fresh lets it format an empty drive. A drive with a label is never formatted.
func (d *drive) openDisk(w *world, life *process, fresh bool) (disk.Store, error) {
	// A death during a call does not undo it, as with a real device.
	fsys := &simdisk.Mount{FS: d.faulty, Broken: func() bool { return life.isDead() || d.gone.Load() }}
	if _, err := disk.ReadLabel(fsys, d.path); fresh && errors.Is(err, errs.NotFound) {
		if _, err := disk.Format(fsys, d.path); err != nil {
			return nil, err
		}
	}
	// Small bounds, so that evictions and table blocks occur with little data. Without a cache of verified ranges each
	// read checks its pages.
	inner, err := disk.Open(fsys, d.path, disk.Options{Now: d.now, IdlePieces: 4, TableBlocks: 8, PendingBlocks: 2, VerifiedBytes: -1, Log: w.log})
	if err != nil {
		return nil, err
	}
	opened := &store{Disk: inner, w: w, drive: d, life: life}
	d.store.Store(opened)
	return opened, nil
}

// store is a disk whose calls take time while its drive is slow, or stalls. Calls wait before they acquire a lock of
// the disk's: a goroutine that waits for a mutex stops the bubble's clock.
type store struct {
	*disk.Disk
	w     *world
	drive *drive
	life  *process
}

// drag makes a call of a strained store slow.
// A call that hangs ends with the process: the kernel would end it, or nobody would know.
func (s *store) drag() {
	if gate := s.drive.hung.Load(); gate != nil {
		select {
		case <-*gate:
		case <-s.life.ctx.Done():
		}
	}
	if d := s.drive.slow.Load(); d > 0 {
		simnet.Rest(s.life.ctx, time.Duration(rand.Int64N(d))) // how slow exactly decides nothing
	}
}

// Create begins a piece.
func (s *store) Create(id hemera.PieceID, o disk.CreateOptions) (disk.Writer, error) {
	s.drag()
	if s.w.plan.sabotage == LoseOwners {
		o.Owner = nil
	}
	inner, err := s.Disk.Create(id, o)
	s.drive.serves(id)
	// One in ten, so that most files are whole and the loss must be found among them.
	if err == nil && s.w.plan.sabotage == ForgetPieces && s.w.coin(10) {
		return &forgetful{Writer: inner, id: id, o: o}, nil
	}
	if _, isData := layout.Column(o.Layout, id.Index); err == nil && s.w.plan.sabotage == KeepParity && !isData {
		return stubborn{inner}, nil
	}
	return inner, err
}

// Open opens a piece.
func (s *store) Open(id hemera.PieceID) (disk.Reader, error) {
	s.drag()
	s.drive.serves(id)
	return s.Disk.Open(id)
}

// Remove removes a piece.
func (s *store) Remove(id hemera.PieceID) error {
	s.drag()
	// Under strain a removal is late now and then, while a move may want the same place.
	if s.w.plan.strain > 0 && s.w.straining.Load() && s.w.coin(8) {
		simnet.Rest(s.life.ctx, s.w.upTo(s.w.plan.strain))
	}
	return s.Disk.Remove(id)
}

// Scan lists pieces.
// A slow scan makes audits overlap with moves.
func (s *store) Scan(after hemera.PieceID, limit int) ([]hemera.PieceStat, error) {
	s.drag()
	return s.Disk.Scan(after, limit)
}

// forgetful acknowledges a seal and keeps nothing.
// The piece looks sealed to the head and to the manager; the disk has nothing.
type forgetful struct {
	disk.Writer
	id hemera.PieceID
	o  disk.CreateOptions
}

// Seal returns what a seal would, and aborts the piece.
func (f *forgetful) Seal(s hemera.SealInfo) (hemera.PieceStat, error) {
	stat := hemera.PieceStat{ID: f.id, Size: f.Size(), FileSize: s.FileSize, Layout: f.o.Layout, Checksums: s.Checksums, Path: f.o.Path}
	return stat, f.Abort()
}

// stubborn is a parity piece that keeps what was written to it first (KeepParity): it agrees with the data as long as nothing is
// written over.
type stubborn struct{ disk.Writer }

// WritePages writes what lies behind the end, and accepts the rest.
func (s stubborn) WritePages(p []byte, sums []uint32, off int64) error {
	if off+int64(len(p)) <= s.Size() {
		return nil
	}
	return s.Writer.WritePages(p, sums, off)
}
