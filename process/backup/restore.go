package backup

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"hemera/cluster"
	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/archive"
	"hemera/platform/kv/pebblekv"
	"hemera/platform/pki"
	"hemera/process/statedir"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// RestoreOptions tunes a restore. Zero values mean the defaults.
type RestoreOptions struct {
	// Header gets the archive's header before anything is written. Its error ends the restore.
	Header func(archive.Header) error
	Pair   func()           // called for each record
	Now    func() time.Time // nil: time.Now
	Log    *slog.Logger     // nil: silent
}

// Restored is the result of a restore.
type Restored struct {
	Totals   archive.Totals     // content of the archive
	Boundary namespace.Boundary // where new ids and generations begin
	Tapes    []hemera.VID       // the VIDs of the catalogue: no tape is written before it was scanned
	Epoch    uint64             // the next writer of the store gets a larger one
}

// Restore makes a manager's state directory from an archive. It fails with NotEmpty if the directory has content, with
// Corrupt if the archive is damaged or cut, and with Invalid if this machine's clock is behind the archive. After a
// failure it removes everything that it made. After a kill, no manager starts from the directory; see
// [statedir.CheckRestored].
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
	if err := os.Mkdir(filepath.Join(dir, statedir.RestoringDir), 0o700); err != nil {
		return Restored{}, errs.Wrap(err, "backup.Restore", dir)
	}
	if err := r.load(in); err != nil {
		return Restored{}, err
	}
	return r.done, r.publish()
}

// emptyDir makes the directory, or fails with NotEmpty if it has content. The entry lost+found of a new filesystem does
// not count.
func emptyDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return errs.Wrap(err, "backup.Restore", dir)
	}
	list, err := os.ReadDir(dir)
	if err != nil {
		return errs.Wrap(err, "backup.Restore", dir)
	}
	for _, entry := range list {
		if entry.Name() != "lost+found" {
			return errs.New(errs.NotEmpty, "backup.Restore", dir, "the directory holds "+entry.Name()+" already").
				WithRemedy("name an empty directory; move the old state away, do not delete it")
		}
	}
	return nil
}

// restore is a restore under way: records stream from the archive into one run of a bulk load.
type restore struct {
	ctx     context.Context
	dir     string
	options RestoreOptions

	head  archive.Header            // set by header
	files map[string][]byte         // by name: written beside the store at the end
	keys  map[string]tapeapi.Secret // of tapes, likewise
	store *pebblekv.Store           // nil before header
	out   kv.Writer                 // of store
	all   kv.Load                   // the bulk load
	run   kv.Run                    // its only run: an archive is in order of keys
	done  Restored                  // the result so far
}

// load writes the archive's records into the unfinished store, sets the boundaries above which ids and epochs are new,
// and closes the store.
func (r *restore) load(in io.Reader) (err error) {
	defer func() {
		if r.run != nil {
			_ = r.run.Close() // after an error its table is incomplete; after success it was closed below
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
	if r.done.Tapes, err = namespace.TapesIn(r.ctx, r.store); err != nil {
		return err
	}
	return cluster.Restored(r.ctx, r.store, r.out, now)
}

// header opens the store once the archive's header has been read. It implements archive.Visitor.
func (r *restore) header(h archive.Header) (err error) {
	r.head = h
	if r.options.Header != nil {
		if err := r.options.Header(h); err != nil {
			return err
		}
	}
	// An epoch is one start of a manager. There were fewer starts than seconds since 1970, so the current second is
	// larger than the epoch of any manager of the lost store.
	r.done.Epoch = max(h.Epoch, uint64(r.options.Now().Unix()))
	r.store, err = pebblekv.Open(filepath.Join(r.dir, statedir.RestoringDir), pebblekv.Options{Epoch: r.done.Epoch, Logger: r.options.Log})
	if err != nil {
		return err
	}
	if r.out, err = r.store.Acquire(r.ctx, "restore"); err != nil {
		return err
	}
	loader, ok := r.out.(kv.Loader)
	if !ok {
		return errs.New(errs.Unsupported, "backup.Restore", r.dir, "the engine cannot load many records at once")
	}
	if r.all, err = loader.Load(r.ctx); err != nil {
		return err
	}
	r.run, err = r.all.Run()
	return err
}

// attachment keeps a file of the archive. It implements archive.Visitor.
func (r *restore) attachment(name string, content []byte) error {
	switch name {
	case pki.AuthorityFile:
		r.files[name] = bytes.Clone(content)
	case statedir.TapeKeysDir:
		if err := json.Unmarshal(content, &r.keys); err != nil {
			return errs.As(err, errs.Corrupt, "backup.Restore", name)
		}
	default:
		r.options.Log.Warn("the archive holds a file that this version does not know", "name", name)
	}
	return nil
}

// pair writes one record, unless it is only valid in the lost cluster, such as a join token. It implements
// archive.Visitor.
func (r *restore) pair(key, value []byte) error {
	if err := r.ctx.Err(); err != nil {
		return errs.Wrap(err, "backup.Restore", r.dir)
	}
	if r.options.Pair != nil {
		r.options.Pair()
	}
	if !namespace.Restorable(key) || !cluster.Restorable(key) {
		return nil
	}
	return r.run.Put(key, value)
}

// publish gives the store its name. All other files are durable before that. After a crash before the rename the
// directory shows an unfinished restore; after it, a manager starts from it.
func (r *restore) publish() error {
	for name, content := range r.files {
		if err := writeSecret(filepath.Join(r.dir, name), content); err != nil {
			return errs.Wrap(err, "backup.Restore", name)
		}
	}
	keys := statedir.TapeKeys{Dir: filepath.Join(r.dir, statedir.TapeKeysDir)}
	for name, secret := range r.keys {
		if err := keys.Keep(name, secret); err != nil {
			return err
		}
	}
	if err := statedir.SyncDir(r.dir); err != nil {
		return errs.Wrap(err, "backup.Restore", r.dir)
	}
	if err := os.Rename(filepath.Join(r.dir, statedir.RestoringDir), filepath.Join(r.dir, statedir.StoreDir)); err != nil {
		return errs.Wrap(err, "backup.Restore", r.dir)
	}
	r.files, r.keys = nil, nil // abandon must not remove them any more
	return errs.Wrap(statedir.SyncDir(r.dir), "backup.Restore", r.dir)
}

// abandon removes everything that a failed restore made. The directory itself stays: it may be a mount point.
func (r *restore) abandon() error {
	errAll := os.RemoveAll(filepath.Join(r.dir, statedir.RestoringDir))
	for name := range r.files {
		if err := os.Remove(filepath.Join(r.dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errAll = errors.Join(errAll, err)
		}
	}
	if len(r.keys) > 0 {
		errAll = errors.Join(errAll, os.RemoveAll(filepath.Join(r.dir, statedir.TapeKeysDir)))
	}
	return errs.Wrap(errAll, "backup.Restore", r.dir)
}

// writeSecret writes a new file that only its owner may read, and syncs it.
func writeSecret(path string, content []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}
