package pebblekv

import (
	"bytes"
	"context"
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/cockroachdb/pebble/v2/objstorage/objstorageprovider"
	"github.com/cockroachdb/pebble/v2/sstable"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/platform/kv"
	"hemera/words/errs"
)

// tableBytes is the size of a table of a load, compressed. Large tables keep the engine's list of tables short, and the
// filter and index of one are still small compared to any cache.
const tableBytes = 64 << 20

// loadDir returns the directory of a load's tables before the engine has them: beside the store, so that they can be
// linked. The next Open removes the remains of an interrupted load.
func loadDir(dir string) string { return dir + ".load" }

// bulk is one load: tables in the engine's own format, which the engine ingests all at once.
type bulk struct {
	w   *writer
	dir string // of the tables: see loadDir

	mu     sync.Mutex // guards tables and spans, as runs add to them concurrently; taken after Store.mu
	tables []string   // paths, also of tables that are not complete yet
	spans  []span     // of the complete tables
	ended  bool       // committed or aborted; guarded by Store.mu
}

// span is the first and the last key of a table.
type span struct{ first, last []byte }

var _ kv.Loader = (*writer)(nil)

// Load implements kv.Loader. One load at a time: a second one fails with Conflict. It fails with Fenced if the writer is
// not the newest.
func (w *writer) Load(context.Context) (kv.Load, error) {
	s := w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := w.current("kv.Load"); err != nil {
		return nil, err
	}
	if s.loading {
		return nil, errs.New(errs.Conflict, "kv.Load", w.owner, "another load is under way")
	}
	dir := loadDir(s.dir)
	if err := s.fs.MkdirAll(dir, 0o755); err != nil {
		return nil, errs.Wrap(err, "kv.Load", dir)
	}
	s.loading = true
	return &bulk{w: w, dir: dir}, nil
}

// Run implements kv.Load.
func (b *bulk) Run() (kv.Run, error) { return &run{b: b}, nil }

// Commit implements kv.Load by Pebble's ingestion: one change of the list of tables, durable at return. All runs must be
// closed. Batches wait during a flush and the change of the list; the tables themselves are linked, not copied. If Pebble
// refuses the tables, the store is unchanged, and the caller aborts the load. A failed flush ends all writing.
func (b *bulk) Commit(ctx context.Context) error {
	s := b.w.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := b.w.current("kv.Load"); err != nil {
		return err
	}
	b.mu.Lock()
	tables, err := b.tables, inOrder(b.spans)
	b.mu.Unlock()
	if err != nil || len(tables) == 0 {
		return err
	}
	// Batches enqueued before must be durable first, because the list of tables may get ahead of the log. Besides, with
	// an empty memory table all tables of the load go to the last level at once.
	if err := catchFatal(s.flusher.flush); err != nil {
		return s.kill(err)
	}
	var refused error
	if err := catchFatal(func() error { refused = s.db.Ingest(ctx, tables); return nil }); err != nil {
		return s.kill(err)
	}
	if refused != nil {
		return readError(refused, "kv.Load", b.dir)
	}
	return b.end()
}

// inOrder returns Invalid if tables interleave: the engine has no place for both.
func inOrder(spans []span) error {
	slices.SortFunc(spans, func(a, b span) int { return bytes.Compare(a.first, b.first) })
	for i := 1; i < len(spans); i++ {
		if bytes.Compare(spans[i-1].last, spans[i].first) >= 0 {
			return errs.New(errs.Invalid, "kv.Load", "", "runs interleave")
		}
	}
	return nil
}

// Abort implements kv.Load. After a commit it does nothing.
func (b *bulk) Abort() error {
	b.w.s.mu.Lock()
	defer b.w.s.mu.Unlock()
	return b.end()
}

// end removes the tables that the engine did not ingest. The caller holds the store's mu.
func (b *bulk) end() error {
	if b.ended {
		return nil
	}
	b.ended, b.w.s.loading = true, false
	return errs.Wrap(b.w.s.fs.RemoveAll(b.dir), "kv.Load", b.dir)
}

// create begins the next table. Its bytes are synced as it grows, so that closing it is fast.
func (b *bulk) create() (*sstable.Writer, error) {
	b.mu.Lock()
	name := path.Join(b.dir, fmt.Sprintf("%06d.sst", len(b.tables)))
	b.tables = append(b.tables, name)
	b.mu.Unlock()
	s := b.w.s
	file, err := s.fs.Create(name, vfs.WriteCategoryUnspecified)
	if err != nil {
		return nil, errs.Wrap(err, "kv.Load", name)
	}
	file = vfs.NewSyncingFile(file, vfs.SyncingFileOptions{BytesPerSync: 1 << 20})
	return sstable.NewWriter(objstorageprovider.NewFileWritable(file), s.table), nil
}

// run is one run of a load: a sequence of tables. One goroutine uses it; several runs are written at a time.
type run struct {
	b     *bulk
	table *sstable.Writer // nil before the first key, and between two tables
	first []byte          // key in the table
	last  []byte          // key of the run, also across tables: keys must ascend
}

// Put implements kv.Run. It begins a new table once the current one has tableBytes.
func (r *run) Put(key, value []byte) error {
	if err := kv.CheckPair(key, value); err != nil {
		return err
	}
	if bytes.Compare(key, r.last) <= 0 {
		return errs.New(errs.Invalid, "kv.Load", "", "a run's keys must grow")
	}
	if r.table != nil && r.table.Raw().EstimatedSize() >= tableBytes {
		if err := r.Close(); err != nil {
			return err
		}
	}
	if r.table == nil {
		table, err := r.b.create()
		if err != nil {
			return err
		}
		r.table, r.first = table, bytes.Clone(key)
	}
	r.last = append(r.last[:0], key...)
	err := r.table.Set(key, value)
	return readError(err, "kv.Load", r.b.dir)
}

// Close implements kv.Run. The table is durable when it returns.
func (r *run) Close() error {
	if r.table == nil {
		return nil
	}
	table := r.table
	r.table = nil
	r.b.mu.Lock()
	r.b.spans = append(r.b.spans, span{r.first, bytes.Clone(r.last)})
	r.b.mu.Unlock()
	return errs.Wrap(table.Close(), "kv.Load", "")
}
