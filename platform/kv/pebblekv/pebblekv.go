// Package pebblekv is the embedded kv engine: one directory, one process, Pebble's log-structured tree. DESIGN.md has the
// reasons and measurements, docs/formats/namespace.md the formats.
//
// # Batches
//
// A batch goes to Pebble's log and memory table in one step, with its number under one of the engine's own keys. So a
// prefix of all batches survives a crash, and it has its length. Batches that wait at the same time share one write and
// one sync of Pebble's log. A batch is readable at once, and durable when Wait of its [kv.Ticket], or of a later one, has
// returned nil.
//
// # Invariants
//
//   - Batches are numbered without gaps, and Pebble has them in that order (Store.mu).
//   - Only the writer with the last epoch enqueues. The epoch is in a table before its writer exists.
//   - A batch whose ticket returned nil exists after a crash, or Open fails with Corrupt. See token and audit.
//   - After the first error of the log, or of tables for too long, nothing is acknowledged and the log stays as it is:
//     Store.dead says why, until the store is opened again.
//   - Open changes nothing before it has found the logs complete.
//
// # States
//
// A store is open, dead (writing has ended; reads are possible) or closed. It never leaves dead or closed.
//
// # Goroutines and what blocks
//
// Pebble has its own goroutines: one that writes and syncs the log, those of flushes and compactions, one that removes
// files. The engine adds the scheduler of compactions, a timer for notes, and a short one after each flush. Enqueue
// blocks while Pebble is behind with its tables, and while a log is begun, every 32 MiB. Wait blocks on the sync. Reads
// block on the disk alone. Close waits for reads, snapshots and the last batch.
//
// # Locks
//
// Store.mu is taken first, then Pebble's own. flusher.mu and the turn of logState are taken last, and separately.
package pebblekv

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"io/fs"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/platform/kv"
	"hemera/platform/turn"
	"hemera/words/errs"
)

// Options has the engine's settings. The zero value is suitable for one machine.
type Options struct {
	CacheBytes    int64 // of uncompressed blocks; 0: 64 MiB
	MemTableBytes int   // buffered bytes before a flush, twice; 0: 32 MiB
	// Epoch is a lower bound: the next writer's epoch is larger. A store that replaces a lost one must continue beyond
	// its epochs.
	Epoch uint64
	// ReadOnly opens a store for reading only: Acquire fails with ReadOnly, and the log is not changed.
	ReadOnly bool
	// Damaged allows a read-only store to be opened although its log or list of tables is damaged or lost; it then has
	// what could be read. Open calls it with each damage it finds. If it is nil, or the store is not read-only, Open
	// fails with Corrupt.
	Damaged func(error)
	FS      vfs.FS       // nil: the operating system's
	Logger  *slog.Logger // gets Pebble's messages; nil: none
	// PebbleScheduler lets Pebble's own scheduler decide when compactions run. Then Open takes longer, failed compactions
	// are repeated without a pause, and an Open that fails may leave the directory locked, or end the process
	// (DESIGN.md).
	PebbleScheduler bool
	// Unsynced leaves a batch unsynced until Wait of its ticket or of a later one is called, or about a second has passed. It
	// is for a store whose batches are durable elsewhere, and come again after a crash.
	Unsynced bool

	flushRetryTime time.Duration // see the constant, which 0 stands for
	noteAfter      time.Duration // see the constant, which 0 stands for
	uncompacted    bool          // for tests: no compaction begins
}

// The engine's own keys, which users of kv cannot write.
const (
	keyEpoch = "\x00e" // epoch of the last writer
	keySeq   = "\x00s" // number of the last batch; each batch writes it
	userLo   = "\x01"
)

// stopped is larger than the possible number of reads under way. Close adds it to Store.reads, so that one number has
// both the count and whether new reads are refused.
const stopped = 1 << 40

// Store is the engine over one open directory, which it keeps locked.
type Store struct {
	db  *pebble.DB // set by Open, closed by Close
	fs  vfs.FS     // orders marker files; the log has logs for its files
	dir string
	// cacheMax bounds the memory for blocks and memory tables.
	cacheMax int64
	table    sstable.WriterOptions // of the tables of loads: those of the last level

	logs    *logFS
	flusher *flusher
	dead    atomic.Pointer[errs.Error] // the error that ended writing, or nil

	enqueued atomic.Uint64 // number of the last batch that Pebble has
	durable  atomic.Uint64 // number of the last batch that is known to be durable

	// mu orders batches: a number and its place in Pebble's log are one step. It is held during Pebble's Apply, which
	// orders batches in the same way, and begins a new log every 32 MiB.
	mu     sync.Mutex
	epoch  uint64  // of the last writer; in a table before the writer exists
	newest *ticket // of the last batch; nil before the first
	closed bool    // Close was called
	notes  notes
	// loading says that a load is under way.
	loading bool
	// unsynced is Options.Unsynced.
	unsynced bool

	// reads counts the reads under way, plus stopped if new ones are refused: Pebble forbids reads after its Close, so
	// Store.Close waits for them. The last read closes quiet.
	reads atomic.Int64
	quiet chan struct{}
}

var _ kv.Store = (*Store)(nil)

// Open opens the store in a directory, or makes one. It fails with Unavailable if another process has the store, with
// Corrupt, and without changes, if a part of it is lost or damaged, and with Unsupported if a later version wrote it. It
// blocks while Pebble writes the content of the logs to tables, and fails if that has failed for flushRetryTime.
func Open(dir string, o Options) (*Store, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	o.FS = orderedMarkers{o.FS}
	o, err := tolerate(o, dir, intact(o.FS, dir))
	if err != nil {
		return nil, errs.Wrap(err, "pebblekv.Open", dir)
	}
	s := &Store{fs: o.FS, dir: dir, unsynced: o.Unsynced, quiet: make(chan struct{})}
	lock, err := s.openLogs(o) // locks the directory, so that no other process writes between the check and Pebble's Open
	if err != nil {
		return nil, err
	}
	err = s.openPebble(o, lock)
	if lock != nil { // Pebble has its own reference
		err = errors.Join(err, lock.Close())
	}
	if err != nil {
		return nil, err
	}
	if err := s.recover(o); err != nil {
		return nil, errors.Join(errs.Wrap(err, "pebblekv.Open", dir), s.db.Close())
	}
	return s, nil
}

// tolerate returns the error wrong, unless the store is opened in spite of damage: then it passes the error to
// Options.Damaged.
func tolerate(o Options, dir string, wrong error) (Options, error) {
	if wrong == nil || !errors.Is(wrong, errs.Corrupt) || !o.ReadOnly || o.Damaged == nil {
		return o, wrong
	}
	o.Damaged(wrong)
	o.FS = assumedMarkers{o.FS, dir, uint64(pebble.FormatNewest)}
	return o, nil
}

// openLogs prepares the filesystem of Pebble's log, and checks the logs of the process before. It returns the lock of a
// checked directory.
func (s *Store) openLogs(o Options) (*pebble.Lock, error) {
	logs := s.fs.PathJoin(s.dir, logDir)
	state, err := readLogState(s.fs, logs)
	if err != nil {
		if errs.KindOf(err) != errs.Corrupt || !o.ReadOnly || o.Damaged == nil {
			return nil, errs.Wrap(err, "pebblekv.Open", s.dir)
		}
		o.Damaged(err)
		state = &logState{fs: s.fs, dir: logs, turn: turn.New()}
	}
	table := pebbleOptions(o).MemTableSize
	s.logs = &logFS{
		FS: s.fs, dir: s.fs.PathDir(s.fs.PathJoin(s.dir, "x")), logs: logs, step: min(zerosMax, int64(table)/zerosShare), state: state,
		enqueued: &s.enqueued, onFailure: func(err error) { _ = s.kill(err) }, // later calls return the error
	}
	if !state.stored {
		if begun, err := s.begin(o, state); !begun || err != nil {
			return nil, err
		}
	}
	lock, err := pebble.LockDirectory(s.dir, s.logs)
	if err != nil {
		return nil, openError(s.dir, err)
	}
	extent, err := (&audit{fs: s.logs, state: state}).run()
	if err != nil && errors.Is(err, errs.Corrupt) && o.ReadOnly && o.Damaged != nil {
		o.Damaged(err)
		s.logs.extent, err = extent, nil
	}
	if err != nil {
		return nil, errors.Join(errs.Wrap(err, "pebblekv.Open", s.dir), lock.Close())
	}
	return lock, nil
}

// begin makes the state file of a new store; false for one that is opened to be read alone. Corrupt for a store that has lost
// its log, Unsupported for one whose log an earlier version wrote.
func (s *Store) begin(o Options, state *logState) (bool, error) {
	if err := formerLog(s.fs, s.dir); err != nil {
		return false, errs.Wrap(err, "pebblekv.Open", s.dir)
	}
	if err := withoutLog(s.fs, s.dir); err != nil {
		if !errors.Is(err, errs.Corrupt) || !o.ReadOnly || o.Damaged == nil {
			return false, errs.Wrap(err, "pebblekv.Open", s.dir)
		}
		o.Damaged(err)
		return false, nil
	}
	if o.ReadOnly {
		return false, nil
	}
	return true, errs.Wrap(state.begin(), "pebblekv.Open", s.dir)
}

// openPebble opens the engine. Pebble applies the logs of the process before, and writes their batches to tables.
func (s *Store) openPebble(o Options, lock *pebble.Lock) error {
	options := pebbleOptions(o)
	options.FS, options.Lock, options.ReadOnly = s.logs, lock, o.ReadOnly
	options.EnsureDefaults()
	var compactions *compactionScheduler // nil for Pebble's own, which must not run if nothing may be changed
	if !o.PebbleScheduler || o.ReadOnly || o.uncompacted {
		compactions = newCompactionScheduler()
		options.Experimental.CompactionScheduler = compactions
	}
	s.flusher = newFlusher(cmp.Or(o.flushRetryTime, flushRetryTime))
	s.flusher.flushed, s.flusher.memTable = s.flushed, options.MemTableSize
	s.flusher.watch(options.EventListener, compactions, options.Logger)
	options.EventListener.WALCreated = func(log pebble.WALCreateInfo) { s.logs.counted.Store(uint64(log.FileNum)) }
	if err := s.openInTime(options, compactions == nil); err != nil {
		return err
	}
	if compactions != nil && !o.ReadOnly && !o.uncompacted {
		compactions.begin()
	}
	s.cacheMax = options.CacheSize
	s.table = options.MakeWriterOptions(len(options.Levels)-1, s.db.TableFormat())
	s.notes.after = cmp.Or(o.noteAfter, noteAfter)
	return nil
}

// openInTime opens the engine. Pebble's Open writes the content of the logs to tables, and tries for ever if that fails.
// openInTime abandons it once the flusher finds that it has failed for too long: its goroutines never run again (see
// flusher.watch). A compaction that runs already continues to write, so then the directory stays locked.
func (s *Store) openInTime(options *pebble.Options, compacts bool) error {
	opened := make(chan error, 1)
	go func() {
		opened <- catchFatal(func() (err error) { s.db, err = pebble.Open(s.dir, options); return err })
	}()
	select {
	case err := <-opened:
		s.flusher.db = s.db
		if err != nil {
			return openError(s.dir, err)
		}
		s.flusher.opened.Store(true)
		return nil
	case <-s.flusher.broken:
		err := s.flusher.failure
		if !compacts {
			err = errors.Join(err, s.logs.unlock())
		}
		return openError(s.dir, err)
	}
}

// flushed removes logs from the state file whose batches are in tables now. It runs in its own goroutine after each
// flush. Pebble removes or reuses the files later, and calls logState again before that.
func (s *Store) flushed() {
	if !s.logs.opened.Load() || s.beginRead("pebblekv.Flush") != nil {
		return
	}
	defer s.endRead()
	if s.logs.failed.Load() {
		return
	}
	// In this order: a log that is begun between the two may be in the count, but not in the number.
	counted := s.logs.counted.Load()
	files := int(s.db.Metrics().WAL.Files)
	_ = s.logs.report(s.logs.state.keep(files, counted))
}

// openError returns the error for a directory that Pebble cannot open.
func openError(dir string, err error) error {
	kind := errs.KindOf(err)
	switch {
	case pebble.IsCorruptionError(err):
		return readError(err, "pebblekv.Open", dir)
	case errors.Is(err, fs.ErrNotExist):
		return errs.New(errs.Corrupt, "pebblekv.Open", dir, "a table of the manager's store is missing: "+err.Error()).WithRemedy(tableRemedy)
	case kind == errs.Internal, errors.Is(err, syscall.EAGAIN): // another process has the lock
		kind = errs.Unavailable
	}
	return errs.New(kind, "pebblekv.Open", dir, err.Error()).
		WithRemedy("check that no other process uses the directory and that its filesystem is healthy; if files of it are lost, put them back, or restore the latest backup with `hemera ns restore FILE NEWDIR`")
}

// recover finds out where the process before ended, and begins this one's log. A read-only store gets its numbers alone, and
// is dead from the beginning.
func (s *Store) recover(o Options) error {
	last, err := s.number(keySeq)
	if err != nil {
		return err
	}
	if wrong := s.logs.state.behind(last); wrong != nil {
		if !o.ReadOnly || o.Damaged == nil {
			return wrong
		}
		o.Damaged(wrong)
	}
	s.enqueued.Store(last)
	s.durable.Store(last)
	if s.epoch, err = s.number(keyEpoch); err != nil {
		return err
	}
	s.epoch = max(s.epoch, o.Epoch)
	if o.ReadOnly {
		s.dead.Store(errs.New(errs.ReadOnly, "pebblekv.Acquire", s.dir, "the store was opened to be read alone"))
		return nil
	}
	// The lock of the directory is held: no other process is filling it.
	if err := s.fs.RemoveAll(loadDir(s.dir)); err != nil {
		return err
	}
	if err := s.logs.state.adopt(last); err != nil {
		return err
	}
	s.logs.opened.Store(true)
	return nil
}

// pebbleOptions returns the settings of the tree. Blocks are large, because the namespace is read through a cache of
// records; the manager's memory policy sets the sizes of cache and memory tables (process/daemon).
func pebbleOptions(o Options) *pebble.Options {
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 32 << 20
	}
	p := &pebble.Options{
		FS: o.FS,
		// Pebble takes the memory for its memory tables from the cache, so add it.
		CacheSize:                   o.CacheBytes + 2*int64(o.MemTableBytes),
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: math.MaxInt32, // writers wait in admit instead, which returns an error if waiting is in vain
		L0CompactionThreshold:       2,
		L0StopWritesThreshold:       math.MaxInt32, // see above
		LBaseMaxBytes:               64 << 20,
		MaxOpenFiles:                1000,
		BytesPerSync:                1 << 20,
		FormatMajorVersion:          pebble.FormatNewest,
		CompactionConcurrencyRange:  func() (int, int) { return 1, max(1, runtime.NumCPU()/2) },
		Logger:                      logger{o.Logger},
	}
	for i := range p.Levels {
		p.Levels[i].BlockSize = 16 << 10
		p.Levels[i].IndexBlockSize = 64 << 10
		p.Levels[i].FilterPolicy = bloom.FilterPolicy(10)
	}
	// Pebble does not read filters of the last level: nearly all lookups that reach it find their key.
	p.Levels[len(p.Levels)-1].FilterPolicy = pebble.NoFilterPolicy
	// Zstandard for the levels with nearly all data, the cheap codec above.
	p.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionGood })
	return p
}

// Acquire implements kv.Store. When it returns, the epoch is durable in a table, because a crash may tear the log.
func (s *Store) Acquire(_ context.Context, owner string) (kv.Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable("pebblekv.Acquire"); err != nil {
		return nil, err
	}
	if err := catchFatal(func() error {
		if err := s.db.Set([]byte(keyEpoch), binary.BigEndian.AppendUint64(nil, s.epoch+1), pebble.Sync); err != nil {
			return err
		}
		return s.flusher.flush()
	}); err != nil {
		return nil, s.kill(err)
	}
	if err := s.usable("pebblekv.Acquire"); err != nil { // the log failed meanwhile
		return nil, err
	}
	s.epoch++
	return &writer{s: s, epoch: s.epoch, owner: owner}, nil
}

// Epoch returns the epoch of the last writer, of this process or of one before. It blocks while a batch is being applied.
func (s *Store) Epoch() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

// Backup implements kv.Store by a checkpoint: files are linked if the filesystem can, and copied otherwise. It fails with
// NotEmpty if the directory has entries. Writers continue meanwhile. The copy has at least all batches that were durable
// at the call. After an error an incomplete copy may remain.
func (s *Store) Backup(_ context.Context, dir string) error {
	if err := s.beginRead("pebblekv.Backup"); err != nil {
		return err
	}
	defer s.endRead()
	if names, err := s.fs.List(dir); err == nil && len(names) > 0 {
		return errs.New(errs.NotEmpty, "pebblekv.Backup", dir, "the directory for a backup must be empty")
	} else if err == nil {
		// Pebble makes the directory itself and refuses an existing one.
		if err := s.fs.Remove(dir); err != nil {
			return errs.Wrap(err, "pebblekv.Backup", dir)
		}
	}
	if err := s.flusher.flush(); err != nil { // the copy has no log
		return errs.Wrap(err, "pebblekv.Backup", dir)
	}
	if err := s.db.Checkpoint(dir); err != nil {
		return errs.Wrap(err, "pebblekv.Backup", dir)
	}
	return errs.Wrap(s.withoutLogs(dir), "pebblekv.Backup", dir)
}

// withoutLogs removes the logs from a copy of the store, because its tables have all batches. It writes a state file that
// says that no log is needed: otherwise the copy would look like a store that has lost its logs.
func (s *Store) withoutLogs(dir string) error {
	names, err := s.fs.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		if isLog(name) {
			if err := s.fs.Remove(s.fs.PathJoin(dir, name)); err != nil {
				return err
			}
		}
	}
	logs := s.fs.PathJoin(dir, logDir)
	if err := s.fs.MkdirAll(logs, 0o755); err != nil {
		return err
	}
	state := &logState{fs: s.fs, dir: logs, turn: turn.New()}
	return errors.Join(state.none(), syncDir(s.fs, dir))
}

// Stats implements kv.Store. It takes Pebble's mutexes for a moment. For a closed store it returns zeros.
func (s *Store) Stats() kv.Stats {
	if s.beginRead("pebblekv.Stats") != nil {
		return kv.Stats{}
	}
	defer s.endRead()
	m := s.db.Metrics()
	return kv.Stats{
		Bytes: int64(m.DiskSpaceUsage()), Syncs: s.logs.syncs.Load(),
		CacheBytes: m.BlockCache.Size + int64(m.MemTable.Size), CacheMax: s.cacheMax,
	}
}

// Close implements kv.Store. It blocks until reads and snapshots have ended and all enqueued batches are in tables, so
// that the next start needs no log. If writing to tables fails, the log still has the batches, and Close returns only
// Pebble's error. A second call returns nil at once, also while the first is under way.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.notes.stop()
	newest := s.newest
	s.mu.Unlock()
	if newest != nil {
		newest.settle()
	}
	s.reads.Add(stopped + 1) // one more, so that endRead below is the last if there is no other
	s.endRead()
	<-s.quiet
	if s.dead.Load() == nil && s.flusher.flush() == nil && s.dead.Load() == nil {
		_ = s.logs.state.none()
	}
	return errs.Wrap(s.db.Close(), "pebblekv.Close", "")
}

// beginRead counts a read; endRead ends it. It fails with Unavailable once the store is closed. Pebble panics on a read
// after its Close, so all reads are counted.
func (s *Store) beginRead(op string) error {
	for {
		now := s.reads.Load()
		if now >= stopped {
			return errs.New(errs.Unavailable, op, "", "the store is closed")
		}
		if s.reads.CompareAndSwap(now, now+1) {
			return nil
		}
	}
}

// endRead ends a read. The last one wakes a waiting Close.
func (s *Store) endRead() {
	if s.reads.Add(-1) == stopped {
		close(s.quiet)
	}
}

// usable returns an error if writes are not possible any more. The caller holds mu.
func (s *Store) usable(op string) error {
	if s.closed {
		return errs.New(errs.Unavailable, op, "", "the store is closed")
	}
	if e := s.dead.Load(); e != nil {
		return e
	}
	if err := s.flusher.usable(); err != nil {
		return s.kill(err)
	}
	return nil
}

// kill ends all writing, and returns the error of all later writes: the first cause stays. After a failed write or sync
// the content of the disk is unknown, and a second sync may report success for pages that the kernel has dropped. Reads
// stay possible. It takes no lock, so the log may call it from inside of Pebble.
func (s *Store) kill(cause error) error {
	e := &errs.Error{Kind: errs.Unavailable, Op: "pebblekv.Commit", Cause: cause,
		Remedy: "check the disk under the manager's store, then restart the manager"}
	s.dead.CompareAndSwap(nil, e)
	return s.dead.Load()
}

// number returns the value of one of the engine's own keys, eight bytes, big endian, or 0 without one.
func (s *Store) number(key string) (uint64, error) {
	raw, closer, err := s.db.Get([]byte(key))
	if errors.Is(err, pebble.ErrNotFound) {
		return 0, nil
	}
	if err != nil {
		return 0, readError(err, "pebblekv.Open", key[1:])
	}
	defer func() { _ = closer.Close() }()
	if len(raw) != 8 {
		return 0, errs.New(errs.Corrupt, "pebblekv.Open", key[1:], "the engine's own key has the wrong length")
	}
	return binary.BigEndian.Uint64(raw), nil
}
