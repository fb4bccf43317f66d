// Package pebblekv is the embedded kv engine: one directory, one process, Pebble's log-structured
// tree behind a write-ahead log of our own. A batch is one record of the log; batches that wait at
// the same time share one write and one fsync.
//
// Every batch also writes its sequence number under the engine's own key, so that Pebble's tables, which
// hold a first part of all batches, know how far they go, and a start continues with those of the
// log. Formats are described in docs/formats/namespace.md.
package pebblekv

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"log/slog"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/bloom"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/errs"
	"hemera/platform/kv"
)

// Options tune the engine. The zero value is a good start for one machine.
type Options struct {
	CacheBytes    int64 // of uncompressed blocks; 0: 64 MiB
	MemTableBytes int   // buffered writes before a flush, twice over; 0: 32 MiB
	// Epoch is the least that the next writer's epoch is above: a store that takes the place of a lost
	// one goes on beyond its epochs.
	Epoch uint64
	// ReadOnly opens a store to be read alone: nobody becomes its writer, and its log stays as it is.
	ReadOnly bool
	// Damaged lets a read-only store be opened whose log or list of tables is damaged or lost, as far as it goes,
	// and is told of it.
	Damaged func(error)
	FS      vfs.FS
	Logger  *slog.Logger

	flushPatience time.Duration // see there
	uncompacted   bool          // for tests: no compaction begins
}

// Keys of the engine, outside of what users of kv may write.
const (
	keyEpoch = "\x00e"
	keyLog   = "\x00l"
	keyMark  = "\x00m"
	keySeq   = "\x00s"
	userLo   = "\x01"
)

// stopped is more reads than can be under way.
const stopped = 1 << 40

// Store is the engine over one open directory, which it holds locked.
type Store struct {
	db  *pebble.DB
	fs  vfs.FS
	dir string
	// cacheMax is the memory for blocks and memory tables.
	cacheMax int64
	table    sstable.WriterOptions // of the tables of loads: those of the last level

	log    *log
	tables *tables
	dead   atomic.Pointer[errs.Error]

	// mu orders batches: a sequence number and its place in the log are one step.
	mu     sync.Mutex
	epoch  uint64
	seq    uint64
	closed bool
	// loading says that a load is under way.
	loading bool

	// reads is the number of reads under way, and more by stopped when there may be no more: Pebble
	// forbids reads after its end, so Close waits. quiet is closed by the last of them.
	reads atomic.Int64
	quiet chan struct{}
}

var _ kv.Store = (*Store)(nil)

// Open opens or makes the store in the directory. Unavailable when another process has it; Corrupt, and nothing is
// changed, when a part of it is lost or damaged.
func Open(dir string, o Options) (*Store, error) {
	if o.FS == nil {
		o.FS = vfs.Default
	}
	o.FS = markers{o.FS}
	if err := intact(o.FS, dir); err != nil {
		if !errors.Is(err, errs.Corrupt) || !o.ReadOnly || o.Damaged == nil {
			return nil, errs.Wrap(err, "kv.Open", dir)
		}
		o.Damaged(err)
		o.FS = marked{o.FS, dir, uint64(pebble.FormatNewest)}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	options := pebbleOptions(o)
	options.EnsureDefaults()
	compactions := newPatience()
	options.Experimental.CompactionScheduler = compactions
	tables := newTables(cmp.Or(o.flushPatience, flushPatience))
	tables.watch(options.EventListener, compactions, options.Logger)
	var db *pebble.DB
	err := apply(func() (err error) { db, err = pebble.Open(dir, options); return err })
	tables.db = db
	if !o.ReadOnly && !o.uncompacted {
		compactions.begin()
	}
	if err != nil {
		kind := errs.KindOf(err)
		switch {
		case pebble.IsCorruptionError(err):
			kind = errs.Corrupt
		case kind == errs.Internal:
			kind = errs.Unavailable
		}
		return nil, errs.New(kind, "kv.Open", dir, err.Error()).
			WithRemedy("check that no other process uses the directory and that its filesystem is healthy; if files of it are lost, put them back, or restore the latest backup with `hemera ns restore`")
	}
	s := &Store{
		db: db, fs: o.FS, dir: dir, cacheMax: options.CacheSize, table: options.MakeWriterOptions(len(options.Levels)-1, db.TableFormat()),
		tables: tables, quiet: make(chan struct{}),
	}
	if o.ReadOnly {
		err = s.readLog(o.Damaged)
	} else if err = o.FS.RemoveAll(loadDir(dir)); err == nil { // the directory's lock is held: nobody is filling it
		err = s.openLog(int64(options.MemTableSize))
	}
	if err == nil {
		s.epoch, err = s.number(keyEpoch)
	}
	if err != nil {
		return nil, errors.Join(errs.Wrap(err, "kv.Open", dir), db.Close())
	}
	s.epoch = max(s.epoch, o.Epoch)
	return s, nil
}

func pebbleOptions(o Options) *pebble.Options {
	if o.CacheBytes == 0 {
		o.CacheBytes = 64 << 20
	}
	if o.MemTableBytes == 0 {
		o.MemTableBytes = 32 << 20
	}
	p := &pebble.Options{
		FS:         o.FS,
		DisableWAL: true, // see log
		// Pebble takes its memory tables out of the cache: without room for them there is none.
		CacheSize:                   o.CacheBytes + 2*int64(o.MemTableBytes),
		MemTableSize:                uint64(o.MemTableBytes),
		MemTableStopWritesThreshold: math.MaxInt32, // the log has writers wait, and can tell them when it is in vain
		L0CompactionThreshold:       2,
		L0StopWritesThreshold:       math.MaxInt32, // the same
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
	// Of the last level Pebble does not read filters: nearly all lookups that come so far find something.
	p.Levels[len(p.Levels)-1].FilterPolicy = pebble.NoFilterPolicy
	// Zstandard where nearly all data is, the cheap codec above.
	p.ApplyCompressionSettings(func() pebble.DBCompressionSettings { return pebble.DBCompressionGood })
	return p
}

// Acquire implements kv.Store. The epoch is durable when it returns.
func (s *Store) Acquire(_ context.Context, owner string) (kv.Writer, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.usable("kv.Acquire"); err != nil {
		return nil, err
	}
	if err := apply(func() error {
		if err := s.db.Set([]byte(keyEpoch), binary.BigEndian.AppendUint64(nil, s.epoch+1), pebble.NoSync); err != nil {
			return err
		}
		return s.tables.flush() // it is no batch, so not in the log
	}); err != nil {
		return nil, s.kill(err)
	}
	s.epoch++
	return &writer{s: s, epoch: s.epoch, owner: owner}, nil
}

// Epoch is that of the last writer there was.
func (s *Store) Epoch() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.epoch
}

// Backup implements kv.Store by a checkpoint: files are linked where the filesystem can.
func (s *Store) Backup(_ context.Context, dir string) error {
	if err := s.enter("kv.Backup"); err != nil {
		return err
	}
	defer s.leave()
	if names, err := s.fs.List(dir); err == nil && len(names) > 0 {
		return errs.New(errs.NotEmpty, "kv.Backup", dir, "the directory for a backup must be empty")
	} else if err == nil {
		// Pebble makes the directory itself and refuses one that is there.
		if err := s.fs.Remove(dir); err != nil {
			return errs.Wrap(err, "kv.Backup", dir)
		}
	}
	if err := s.tables.flush(); err != nil { // of the log there is no copy
		return errs.Wrap(err, "kv.Backup", dir)
	}
	if err := s.db.Checkpoint(dir); err != nil {
		return errs.Wrap(err, "kv.Backup", dir)
	}
	return errs.Wrap(s.settleCopy(dir), "kv.Backup", dir)
}

// settleCopy has a copy's tables know that they need no log.
func (s *Store) settleCopy(dir string) error {
	options := pebbleOptions(Options{FS: s.fs, Logger: slog.New(slog.DiscardHandler)})
	copied, err := pebble.Open(dir, options)
	if err != nil {
		return err
	}
	err = copied.Set([]byte(keyLog), make([]byte, 8), pebble.NoSync)
	if err == nil {
		err = copied.Flush()
	}
	return errors.Join(err, copied.Close())
}

// Stats implements kv.Store.
func (s *Store) Stats() kv.Stats {
	if s.enter("kv.Stats") != nil {
		return kv.Stats{}
	}
	defer s.leave()
	m := s.db.Metrics()
	return kv.Stats{
		Bytes: int64(m.DiskSpaceUsage()), Syncs: s.log.syncs.Load(),
		CacheBytes: m.BlockCache.Size + int64(m.MemTable.Size), CacheMax: s.cacheMax,
	}
}

// Close implements kv.Store; it waits for what was enqueued and has it written to tables, so that the next start needs
// nothing of the log. Where that fails the log has it.
func (s *Store) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	err := s.log.reach(s.seq) // who waits for it is told
	if err == nil && s.dead.Load() == nil && s.tables.newest(0) == nil {
		_ = s.tables.flush()
	}
	s.reads.Add(stopped + 1)
	s.leave()
	<-s.quiet
	return errs.Wrap(errors.Join(s.log.close(), s.db.Close()), "kv.Close", "")
}

// enter begins a read; leave ends it.
func (s *Store) enter(op string) error {
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

func (s *Store) leave() {
	if s.reads.Add(-1) == stopped {
		close(s.quiet)
	}
}

// usable says whether writes may still be tried. The caller holds mu.
func (s *Store) usable(op string) error {
	if s.closed {
		return errs.New(errs.Unavailable, op, "", "the store is closed")
	}
	if e := s.dead.Load(); e != nil {
		return e
	}
	if err := s.tables.usable(); err != nil {
		return s.kill(err)
	}
	return nil
}

// kill ends all writing: after a failed write or sync nobody knows what is on the disk.
func (s *Store) kill(cause error) error {
	e := &errs.Error{Kind: errs.Unavailable, Op: "kv.Commit", Cause: cause,
		Remedy: "check the disk under the manager's store, then restart the manager"}
	s.dead.CompareAndSwap(nil, e)
	return s.dead.Load()
}
