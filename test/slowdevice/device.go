package slowdevice

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"hemera/words/errs"
)

// requestsMax bounds the requests that the kernel has under way: more than any queue that is to be shown.
const requestsMax = 256

// requestMax is the longest request, in bytes. The kernel's own limit for FUSE.
const requestMax = 1 << 20

// Mount shows backing as the file "device" below dir, which must be an empty directory. The device is as long as backing. unmount ends
// it; it fails while somebody uses the device. Pages of 4 KiB that repeat one byte are not in backing, see [Timing] for the rest.
func Mount(dir, backing string, timing Timing) (device string, unmount func() error, err error) {
	f, err := os.OpenFile(backing, os.O_RDWR, 0) // #nosec G304 -- the caller's own file
	if err != nil {
		return "", nil, errs.Wrap(err, "slowdevice.Mount", backing)
	}
	st, err := f.Stat()
	if err != nil {
		_ = f.Close()
		return "", nil, errs.Wrap(err, "slowdevice.Mount", backing)
	}
	content, err := newPages(f, st.Size())
	if err != nil {
		_ = f.Close()
		return "", nil, err
	}
	long := time.Hour // nobody but this file system changes the tree
	options := &fs.Options{EntryTimeout: &long, AttrTimeout: &long}
	options.MountOptions = fuse.MountOptions{
		DirectMountStrict: true, DisableXAttrs: true, MaxWrite: requestMax, MaxBackground: requestsMax, CongestionThreshold: requestsMax,
		DisableSplice:     true,               // a pipe holds less than a request
		ExtraCapabilities: fuse.CAP_ASYNC_DIO, // else one request after another
		FsName:            "slowdevice", Name: "slowdevice",
	}
	// The content lives as long as the mount.
	server, err := fs.Mount(dir, &directory{file: &file{backing: f, content: content, bus: &bus{timing: timing}}}, options)
	if err != nil {
		_ = errors.Join(content.close(), f.Close())
		return "", nil, errs.Wrap(err, "slowdevice.Mount", dir)
	}
	return filepath.Join(dir, "device"), func() error {
		if err := server.Unmount(); err != nil {
			return errs.Wrap(err, "slowdevice.Unmount", dir)
		}
		server.Wait()
		return errs.Wrap(errors.Join(content.close(), f.Close()), "slowdevice.Unmount", backing)
	}, nil
}

// directory is the root of the file system.
type directory struct {
	fs.Inode
	file *file
}

// OnAdd implements [fs.NodeOnAdder].
func (d *directory) OnAdd(ctx context.Context) {
	d.AddChild("device", d.NewPersistentInode(ctx, d.file, fs.StableAttr{Mode: syscall.S_IFREG}), false)
}

// file is the device.
type file struct {
	fs.Inode
	backing *os.File
	content *pages
	bus     *bus
}

// wait returns when a request of n bytes is done.
func (f *file) wait(n int) { time.Sleep(time.Until(f.bus.end(time.Now(), n))) }

// Getattr implements [fs.NodeGetattrer].
func (f *file) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	st, err := f.backing.Stat()
	if err != nil {
		return fs.ToErrno(err)
	}
	out.Size, out.Mode, out.Blksize = uint64(st.Size()), 0o600, 4096
	return 0
}

// Setattr implements [fs.NodeSetattrer]. The length stays: a device has one.
func (f *file) Setattr(ctx context.Context, h fs.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return f.Getattr(ctx, h, out)
}

// Open implements [fs.NodeOpener].
func (f *file) Open(context.Context, uint32) (fs.FileHandle, uint32, syscall.Errno) { return nil, 0, 0 }

// Read implements [fs.NodeReader].
func (f *file) Read(_ context.Context, _ fs.FileHandle, p []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	n := f.content.readAt(p, off)
	f.wait(n)
	return fuse.ReadResultData(p[:n]), 0
}

// Write implements [fs.NodeWriter].
func (f *file) Write(_ context.Context, _ fs.FileHandle, p []byte, off int64) (uint32, syscall.Errno) {
	n := f.content.writeAt(p, off)
	f.wait(n)
	return uint32(n), 0 // #nosec G115 -- at most requestMax
}

// Fsync implements [fs.NodeFsyncer].
func (f *file) Fsync(context.Context, fs.FileHandle, uint32) syscall.Errno {
	return fs.ToErrno(f.backing.Sync())
}
