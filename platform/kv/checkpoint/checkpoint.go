// Package checkpoint brings a copy of a store from one machine to another. A manager that is too far behind the journal gets one, opens it as its
// store, and follows the journal from there.
//
// # The way of a copy
//
// [Make] lets the store write a consistent copy, and describes it by a [Manifest]: names, sizes, and a sum of each MiB. The receiver calls [Fetch]
// with a [Source], which is a directory of the same machine ([Local]) or one behind HTTP ([Remote] and [Handler]).
//
// # Invariants
//
//   - A directory that has its final name is whole. Fetch gathers files in a directory beside it, which ends in ".part", and moves that
//     when every block has been verified and all is durable.
//   - Nothing but the sums of the manifest decides if a block is right. So it does not matter when and from which checkpoint it came. A Fetch that
//     continues reads what is there and asks for the rest.
//   - A source costs bounded memory and time, whatever it answers: the sizes of the manifest and of each answer have limits, and so have the time
//     of an answer, the repeats of a block and the changes of the manifest. There is no limit for the whole, which may take days.
//   - A name of a manifest or a request stays below its directory (checkName).
//
// # Files
//
// On the side of Make there are "files", the directory with the copy, and "manifest", which is written last: without it there is no checkpoint.
// A checkpoint that has a manifest is whole, also after a crash. docs/formats/checkpoint.md has the format.
//
// # Blocking
//
// There are no goroutines and no locks. All functions that take a context block, for the device or for the network. One Make for a directory, or
// one Fetch, may run at a time; a Source may be read while Make replaces its checkpoint.
package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"

	"github.com/zeebo/xxh3"

	"hemera/platform/vfs"
	"hemera/words/errs"
)

// Store is the store that is copied. A replicated store implements it.
type Store interface {
	// Backup writes a consistent copy to an empty directory while the store is in use, as that of kv.Store does. It blocks for the device, and
	// fails with Unavailable if the store is closed. The copy need not be durable: Make syncs it.
	Backup(ctx context.Context, dir string) error
	// Applied returns the number of a batch: a later Backup has it and all before it. It returns at once.
	Applied() uint64
}

// Names below the directory of a checkpoint.
const (
	filesName    = "files"
	manifestName = "manifest"
	newSuffix    = ".new" // of a manifest that is being written
)

// Make removes the checkpoint in a directory, and makes another one of the store, which must be on the same filesystem tree. It reads all of the copy
// for the sums. It returns when the manifest is durable. After an error there is no checkpoint; what is left of it is removed now, or by the next
// Make after a crash. It fails with Unsupported if the store cannot be copied, and with TooLarge or Invalid if no manifest can describe the copy.
func Make(ctx context.Context, store Store, fsys vfs.FS, dir string) (*Manifest, error) {
	const op = "checkpoint.Make"
	if err := Remove(fsys, dir); err != nil {
		return nil, errs.Wrap(err, op, dir)
	}
	m, err := makeIn(ctx, store, fsys, dir)
	if err != nil {
		_ = Remove(fsys, dir) // best effort: the next Make does it again
		return nil, errs.Wrap(err, op, dir)
	}
	return m, nil
}

// makeIn implements Make in a directory without a checkpoint.
func makeIn(ctx context.Context, store Store, fsys vfs.FS, dir string) (*Manifest, error) {
	files := path.Join(dir, filesName)
	for _, d := range []string{dir, files} {
		if err := fsys.Mkdir(d); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	m := &Manifest{Last: store.Applied()}
	if err := store.Backup(ctx, files); err != nil {
		return nil, err
	}
	have, err := list(fsys, files)
	if err != nil {
		return nil, err
	}
	for _, e := range append(have, entry{dir: true}) {
		if e.dir {
			if err := fsys.SyncDir(path.Join(files, e.name)); err != nil {
				return nil, err
			}
			continue
		}
		file, err := describe(ctx, fsys, files, e)
		if err != nil {
			return nil, err
		}
		m.Files = append(m.Files, file)
	}
	m.sort()
	b, err := m.Encode()
	if err != nil {
		return nil, err
	}
	return m, writeManifest(fsys, dir, b)
}

// describe syncs a file of a copy, and reads it for its sums.
func describe(ctx context.Context, fsys vfs.FS, root string, e entry) (_ File, err error) {
	f, err := fsys.Open(path.Join(root, e.name), os.O_RDONLY)
	if err != nil {
		return File{}, err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if err := f.Sync(); err != nil {
		return File{}, err
	}
	file := File{Name: e.name, Size: e.size}
	p := make([]byte, BlockSize)
	for off := int64(0); off < e.size; off += BlockSize {
		if err := ctx.Err(); err != nil {
			return File{}, err
		}
		p := p[:min(BlockSize, e.size-off)]
		if n, err := f.ReadAt(p, off); n < len(p) {
			return File{}, err
		}
		file.Sums = append(file.Sums, xxh3.Hash(p))
	}
	return file, nil
}

// writeManifest writes the manifest, and with that ends a checkpoint.
func writeManifest(fsys vfs.FS, dir string, b []byte) (err error) {
	name := path.Join(dir, manifestName)
	f, err := fsys.Open(name+newSuffix, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(b, 0)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := fsys.Rename(name+newSuffix, name); err != nil {
		return err
	}
	return fsys.SyncDir(dir)
}

// Remove removes the checkpoint in a directory, or what is left of one, and keeps the directory. It is not an error if there is none. A checkpoint
// holds the room of tables that the store has replaced since.
func Remove(fsys vfs.FS, dir string) error {
	const op = "checkpoint.Remove"
	if _, err := fsys.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	// The manifest first, durably: it must not survive files that it names.
	err := fsys.Remove(path.Join(dir, manifestName))
	if err == nil {
		err = fsys.SyncDir(dir)
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = fsys.Remove(path.Join(dir, manifestName+newSuffix))
	}
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = removeAll(fsys, path.Join(dir, filesName))
	}
	return errs.Wrap(err, op, dir)
}

// Local is the [Source] of a checkpoint that Make made in a directory of this machine.
type Local struct {
	FS  vfs.FS
	Dir string
}

var _ Source = Local{}

// Manifest implements Source.
func (l Local) Manifest(context.Context) (_ *Manifest, err error) {
	const op = "checkpoint.ReadManifest"
	f, err := l.FS.Open(path.Join(l.Dir, manifestName), os.O_RDONLY)
	if err != nil {
		return nil, errs.Wrap(err, op, l.Dir)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	size, err := f.Size()
	if err != nil {
		return nil, errs.Wrap(err, op, l.Dir)
	}
	if size > manifestMax {
		return nil, errs.New(errs.Corrupt, op, l.Dir, "the manifest is longer than manifests are")
	}
	b := make([]byte, size)
	if n, err := f.ReadAt(b, 0); n < len(b) {
		return nil, errs.Wrap(err, op, l.Dir)
	}
	return Decode(b)
}

// Read implements Source.
func (l Local) Read(ctx context.Context, name string, off int64, p []byte) (err error) {
	const op = "checkpoint.Read"
	if err := checkName(name); err != nil {
		return err
	}
	if off < 0 || len(p) > BlockSize {
		return errs.New(errs.Invalid, op, name, fmt.Sprintf("%d bytes at %d cannot be read", len(p), off))
	}
	if err := ctx.Err(); err != nil {
		return errs.Wrap(err, op, name)
	}
	f, err := l.FS.Open(path.Join(l.Dir, filesName, name), os.O_RDONLY)
	if err != nil {
		return errs.Wrap(err, op, name)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if n, err := f.ReadAt(p, off); n < len(p) {
		return errs.As(err, shortKind(err), op, name)
	}
	return nil
}
