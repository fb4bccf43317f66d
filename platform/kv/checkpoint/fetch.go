package checkpoint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"time"

	"github.com/zeebo/xxh3"

	"hemera/platform/pause"
	"hemera/platform/vfs"
	"hemera/words/errs"
)

// Limits of what a source may cost.
const (
	blockTime    = 30 * time.Second // for one block to arrive, so at least 35 KB/s
	manifestTime = 2 * time.Minute
	attempts     = 5 // at one block
	pauseFirst   = 250 * time.Millisecond
	manifestsMax = 16 // in one Fetch
)

// partSuffix is the end of the name of a directory that is not complete.
const partSuffix = ".part"

// Source is one side of a transfer: it has a checkpoint. Both methods block, and return soon after the context has ended. They fail with NotFound if there is no
// checkpoint or file, and with Unavailable or Timeout if the source does not answer. They are safe for concurrent use.
type Source interface {
	// Manifest returns the manifest of the present checkpoint. Corrupt: it is damaged. Unsupported: a later version wrote it.
	Manifest(ctx context.Context) (*Manifest, error)
	// Read fills p, of at most [BlockSize] bytes, from a file at off. Nothing is verified. It fails with Invalid if the name is not one of a
	// checkpoint, and with Corrupt if the file ends before.
	Read(ctx context.Context, name string, off int64, p []byte) error
}

// Options has the settings of Fetch.
type Options struct {
	BytesPerSecond int64          // what Fetch asks the source for, on average; 0: no limit
	Progress       func(Progress) // if not nil, Fetch calls it after each block, and waits for it
}

// Progress tells how far a Fetch is, in bytes.
type Progress struct {
	Done     int64 // verified and written, or found there
	Total    int64 // of the checkpoint
	Received int64 // asked of the source by this call, with all repeats
}

// Fetch brings the checkpoint of a source to a directory, which must not exist, and returns its manifest. When it returns nil, the directory is whole
// and durable. After an error, or a crash, what has arrived stays in the directory with ".part" added; the next Fetch continues there, also from
// another checkpoint.
//
// It asks several times for a block that is damaged or does not come; then it fails with the error of the last time, which names the file and the
// offset. Such an error may pass, and the caller may call Fetch again. It fails with Exists if the directory is there, with NoSpace before it begins
// if the filesystem lacks room, and with Conflict if the source has another checkpoint again and again.
func Fetch(ctx context.Context, source Source, fsys vfs.FS, dir string, o Options) (*Manifest, error) {
	const op = "checkpoint.Fetch"
	if _, err := fsys.Stat(dir); err == nil {
		return nil, errs.New(errs.Exists, op, dir, "there is something with the name of the checkpoint")
	} else if !errors.Is(err, fs.ErrNotExist) {
		return nil, errs.Wrap(err, op, dir)
	}
	f := &fetcher{source: source, fs: fsys, part: dir + partSuffix, o: o, pace: pace{bytesPerSecond: o.BytesPerSecond}, buffer: make([]byte, BlockSize)}
	err := f.ask(ctx)
	if err == nil {
		err = f.fillLast(ctx)
	}
	if err == nil {
		err = f.finish(dir)
	}
	if err != nil {
		return nil, errs.Wrap(err, op, dir)
	}
	return f.m, nil
}

// fillLast makes the directory the same as the last manifest of the source.
func (f *fetcher) fillLast(ctx context.Context) error {
	for range manifestsMax {
		if err := f.fill(ctx); !errors.Is(err, errChanged) {
			return err
		}
	}
	return errs.New(errs.Conflict, "checkpoint.Fetch", f.part, "the source makes new checkpoints all the time")
}

// errChanged says that the source has another checkpoint.
var errChanged = errors.New("the source has another checkpoint")

// fetcher is one Fetch.
type fetcher struct {
	source Source
	fs     vfs.FS
	part   string // the directory that is being filled
	o      Options
	pace   pace
	buffer []byte

	m    *Manifest // which the directory is filled for
	plan plan
	got  Progress
}

// ask gets the manifest.
func (f *fetcher) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, manifestTime)
	defer cancel()
	m, err := f.source.Manifest(ctx)
	if err == nil {
		err = m.check() // a source of another package may not have decoded it
	}
	if err == nil {
		f.m = m
	}
	return err
}

// changed reports whether the source has another checkpoint, and makes its manifest the present one. If the source does not answer, it has not.
func (f *fetcher) changed(ctx context.Context) bool {
	before := f.m
	return f.ask(ctx) == nil && !f.m.equal(before)
}

// fill makes the directory the same as the manifest. It fails with errChanged if the manifest is not that of the source any more.
func (f *fetcher) fill(ctx context.Context) error {
	if err := f.prepare(); err != nil {
		return err
	}
	f.got.Done, f.got.Total = 0, f.m.Bytes()
	for _, file := range f.m.Files {
		if err := f.file(ctx, file); err != nil {
			return err
		}
	}
	return nil
}

// prepare removes what does not belong to the checkpoint, refuses one that has no room, and makes the directories.
func (f *fetcher) prepare() error {
	have, err := list(f.fs, f.part)
	if err != nil {
		return err
	}
	f.plan = planFor(f.m, have)
	for _, name := range f.plan.remove {
		if err := f.fs.Remove(path.Join(f.part, name)); err != nil {
			return err
		}
	}
	space, err := f.fs.Space(path.Dir(f.part))
	if err != nil {
		return err
	}
	if f.plan.need > space.Free {
		return errs.New(errs.NoSpace, "checkpoint.Fetch", f.part, fmt.Sprintf("the checkpoint needs %d bytes more, and %d are free", f.plan.need, space.Free)).
			WithRemedy("make room on the filesystem, or use another one")
	}
	for _, d := range append([]string{""}, f.plan.mkdir...) {
		if err := f.fs.Mkdir(path.Join(f.part, d)); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// file makes one file the same as that of the checkpoint, and durable.
func (f *fetcher) file(ctx context.Context, file File) error {
	name := path.Join(f.part, file.Name)
	out, err := f.fs.Open(name, os.O_RDWR|os.O_CREATE)
	if err != nil {
		return err
	}
	err = f.blocks(ctx, file, out)
	if err == nil {
		if err = out.Sync(); err != nil {
			// Its pages may be in memory and not on the device, and would be taken for durable.
			err = errors.Join(err, f.fs.Remove(name))
		}
	}
	return errors.Join(err, out.Close())
}

// blocks writes all blocks of a file that are not there.
func (f *fetcher) blocks(ctx context.Context, file File, out vfs.File) error {
	have, err := out.Size()
	if err == nil && have > file.Size {
		have, err = file.Size, out.Truncate(file.Size)
	}
	if err != nil {
		return err
	}
	hints, _ := out.(vfs.Hinter)
	if hints != nil && have > 0 {
		hints.Forget(0, have) // so that what is verified comes from the device
	}
	for i, sum := range file.Sums {
		if err := ctx.Err(); err != nil {
			return err
		}
		off := int64(i) * BlockSize
		p := f.buffer[:min(BlockSize, file.Size-off)]
		if !isThere(out, p, off, have, sum) {
			if err := f.receive(ctx, file, i, p); err != nil {
				return err
			}
			if _, err := out.WriteAt(p, off); err != nil {
				return err
			}
			if hints != nil {
				hints.StartWriteback(off, int64(len(p)))
			}
		}
		f.got.Done += int64(len(p))
		if f.o.Progress != nil {
			f.o.Progress(f.got)
		}
	}
	return nil
}

// isThere reports whether a file of some size has a block already, and uses p for it. A block that cannot be read is written again.
func isThere(out vfs.File, p []byte, off, size int64, sum uint64) bool {
	if off+int64(len(p)) > size {
		return false
	}
	n, _ := out.ReadAt(p, off)
	return n == len(p) && xxh3.Hash(p) == sum
}

// receive gets a block from the source and verifies it.
func (f *fetcher) receive(ctx context.Context, file File, i int, p []byte) error {
	off := int64(i) * BlockSize
	for rest, n := pauseFirst, 1; ; rest, n = 2*rest, n+1 {
		if err := f.pace.wait(ctx, int64(len(p))); err != nil {
			return err
		}
		err := f.read(ctx, file.Name, off, p)
		f.got.Received += int64(len(p))
		if err == nil && xxh3.Hash(p) == file.Sums[i] {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// A source that has replaced its checkpoint has no such file, or another one of that name. One that is away would cost the time of a
		// manifest, too.
		if !away(err) && f.changed(ctx) {
			return errChanged
		}
		if n == attempts {
			where := fmt.Sprintf("%s at offset %d", file.Name, off)
			if err == nil {
				return errs.New(errs.Corrupt, "checkpoint.Fetch", where, fmt.Sprintf("the source sent wrong bytes %d times", n)).
					WithRemedy("make another checkpoint; if this comes again, check the disk of the machine that sends it")
			}
			return errs.Wrap(err, "checkpoint.Fetch", where)
		}
		if err := pause.For(ctx, rest); err != nil {
			return err
		}
	}
}

// away reports whether an error says that the source did not answer.
func away(err error) bool {
	return errors.Is(err, errs.Timeout) || errors.Is(err, errs.Unavailable) || errors.Is(err, errs.Overloaded)
}

// read asks the source for a block, within the time of one.
func (f *fetcher) read(ctx context.Context, name string, off int64, p []byte) error {
	inTime, cancel := context.WithTimeout(ctx, blockTime)
	defer cancel()
	err := f.source.Read(inTime, name, off, p)
	if err != nil && inTime.Err() != nil && ctx.Err() == nil {
		return errs.New(errs.Timeout, "checkpoint.Read", name, fmt.Sprintf("the source sent no block in %v", blockTime))
	}
	return err
}

// finish makes all names durable and gives the directory its final name.
func (f *fetcher) finish(dir string) error {
	for _, d := range append(f.plan.dirs, "") {
		if err := f.fs.SyncDir(path.Join(f.part, d)); err != nil {
			return err
		}
	}
	above := path.Dir(dir)
	if err := f.fs.SyncDir(above); err != nil {
		return err
	}
	if err := vfs.Move(f.fs, f.part, dir); err != nil {
		return err
	}
	return f.fs.SyncDir(above)
}

// shortKind returns the kind of the error of a read that returned too few bytes.
func shortKind(err error) errs.Kind {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errs.Corrupt
	}
	return errs.KindOf(err)
}
