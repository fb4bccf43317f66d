package daemon

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"hemera/core/cluster"
	"hemera/core/namespace"
	"hemera/errs"
	"hemera/platform/kv"
	"hemera/platform/kv/archive"
	"hemera/platform/kv/pebblekv"
	"hemera/platform/pki"
)

// unfinishedDir is where a restore makes the store: it has its name once it is whole.
const unfinishedDir = storeDir + ".restoring"

// RestoreOptions tune a restore; zero values take the defaults.
type RestoreOptions struct {
	// Header is told what the archive says it is, before anything is written; its error ends it.
	Header func(archive.Header) error
	Pair   func()           // called for each record
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: silent
}

// Restored is what a restore made.
type Restored struct {
	Totals   archive.Totals
	Boundary namespace.Boundary
	Epoch    uint64 // the next writer's is above
}

// Restore makes a manager's state directory of an archive. The directory must be empty or missing:
// NotEmpty. Corrupt for an archive that is not whole, Invalid when the clock is behind it. Nothing is
// left behind by a restore that failed; one that was killed leaves a directory that no manager starts
// from.
func Restore(ctx context.Context, in io.Reader, dir string, o RestoreOptions) (_ Restored, err error) {
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := emptyDir(dir); err != nil {
		return Restored{}, err
	}
	r := &restore{ctx: ctx, dir: dir, options: o, files: map[string][]byte{}}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.abandon())
		}
	}()
	if err := os.Mkdir(filepath.Join(dir, unfinishedDir), 0o700); err != nil {
		return Restored{}, errs.Wrap(err, "ns restore", dir)
	}
	if err := r.load(in); err != nil {
		return Restored{}, err
	}
	return r.done, r.publish()
}

func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errs.Wrap(err, "ns restore", dir)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return errs.Wrap(err, "ns restore", dir)
	}
	for _, entry := range list {
		if entry.Name() != "lost+found" { // the root of a new filesystem has that
			return errs.New(errs.NotEmpty, "ns restore", dir, "the directory holds "+entry.Name()+" already").
				WithRemedy("name an empty directory; move the old state away, do not delete it")
		}
	}
	return nil
}

// restore is one that is under way.
type restore struct {
	ctx     context.Context
	dir     string
	options RestoreOptions

	head  archive.Header
	files map[string][]byte
	store *pebblekv.Store
	out   kv.Writer
	all   kv.Load
	run   kv.Run
	done  Restored
}

// load writes what the archive holds into the unfinished store, and closes it.
func (r *restore) load(in io.Reader) (err error) {
	defer func() {
		if r.run != nil {
			_ = r.run.Close() // a table that is cut off: what counts was closed below
			err = errors.Join(err, r.all.Abort())
		}
		if r.store != nil {
			err = errors.Join(err, r.store.Close())
		}
	}()
	r.done.Totals, err = archive.Read(in, archive.Visitor{Header: r.header, Attachment: r.attachment, Pair: r.pair})
	if err != nil {
		return err
	}
	if err := r.run.Close(); err != nil {
		return err
	}
	if err := r.all.Commit(r.ctx); err != nil {
		return err
	}
	now := r.options.Now()
	if r.done.Boundary, err = namespace.Restored(r.ctx, r.store, r.out, r.head.Taken, now); err != nil {
		return err
	}
	return cluster.Restored(r.ctx, r.store, r.out, now)
}

func (r *restore) header(h archive.Header) (err error) {
	r.head = h
	if r.options.Header != nil {
		if err := r.options.Header(h); err != nil {
			return err
		}
	}
	// Starts are fewer than seconds, so that this is beyond the epochs of any store there was.
	r.done.Epoch = max(h.Epoch, uint64(r.options.Now().Unix()))
	r.store, err = pebblekv.Open(filepath.Join(r.dir, unfinishedDir), pebblekv.Options{Epoch: r.done.Epoch, Logger: r.options.Log})
	if err != nil {
		return err
	}
	if r.out, err = r.store.Acquire(r.ctx, "restore"); err != nil {
		return err
	}
	loader, ok := r.out.(kv.Loader)
	if !ok {
		return errs.New(errs.Unsupported, "ns restore", r.dir, "the engine cannot load many records at once")
	}
	if r.all, err = loader.Load(r.ctx); err != nil {
		return err
	}
	r.run, err = r.all.Run()
	return err
}

func (r *restore) attachment(name string, content []byte) error {
	if name != pki.AuthorityFile {
		r.options.Log.Warn("the archive holds a file that this version does not know", "name", name)
		return nil
	}
	r.files[name] = bytes.Clone(content)
	return nil
}

// pair writes one record, unless it is not to be restored.
func (r *restore) pair(key, value []byte) error {
	if err := r.ctx.Err(); err != nil {
		return errs.Wrap(err, "ns restore", r.dir)
	}
	if r.options.Pair != nil {
		r.options.Pair()
	}
	if !namespace.Restorable(key) || !cluster.Restorable(key) {
		return nil
	}
	return r.run.Put(key, value)
}

// publish gives the store its name, after everything that must be beside it.
func (r *restore) publish() error {
	for name, content := range r.files {
		if err := writeSecret(filepath.Join(r.dir, name), content); err != nil {
			return errs.Wrap(err, "ns restore", name)
		}
	}
	if err := syncDir(r.dir); err != nil {
		return errs.Wrap(err, "ns restore", r.dir)
	}
	if err := os.Rename(filepath.Join(r.dir, unfinishedDir), filepath.Join(r.dir, storeDir)); err != nil {
		return errs.Wrap(err, "ns restore", r.dir)
	}
	r.files = nil // they are the store's from now on
	return errs.Wrap(syncDir(r.dir), "ns restore", r.dir)
}

// abandon takes away what was made.
func (r *restore) abandon() error {
	errAll := os.RemoveAll(filepath.Join(r.dir, unfinishedDir))
	for name := range r.files {
		if err := os.Remove(filepath.Join(r.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errAll = errors.Join(errAll, err)
		}
	}
	return errs.Wrap(errAll, "ns restore", r.dir)
}

func writeSecret(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// finished refuses a directory in which a restore was cut short.
func finished(dir string) error {
	if _, err := os.Lstat(filepath.Join(dir, unfinishedDir)); err == nil {
		return errs.New(errs.Corrupt, "daemon.OpenManager", dir, "a restore into this directory was not finished").
			WithRemedy("empty the directory and restore again")
	}
	return nil
}
