package pebblekv

import (
	"errors"
	"io"
	"io/fs"
	"strings"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/cockroachdb/pebble/v2/wal"
)

const (
	// zerosMax is the number of zeros that are written ahead of the log, in bytes: room for some hundred changes. Half of
	// it may remain unused; the file is small anyway.
	zerosMax = 256 << 10
	// zerosShare limits the zeros to a part of the memory table, which is about the size of one log.
	zerosShare = 16
	// zerosWrite is the size of one write of zeros. The kernel keeps a write in folios as large as the write, and each
	// sync of one page scans its whole folio.
	zerosWrite = 64 << 10
)

// logSuffix ends the name of a log's file in logDir. It is not Pebble's ".log", because clean-up jobs and exclude lists
// of backups match that.
const logSuffix = ".wal"

// logFS is the filesystem for Pebble's log. It changes three things.
//
// It keeps the files of the log in a separate directory, with the suffix logSuffix.
//
// It writes zeros ahead of the log. A sync of a file that grew also writes its inode, or commits the filesystem's
// journal; a sync of a block that was written before writes only that block. Pebble reuses old files, but not before the
// first memory table is full. Preallocated blocks do not help: the first write to one changes the inode. So if a log has
// outgrown its file, the same sync writes zeros behind its end, and the next some hundred syncs write data only. Pebble's
// reader takes zeros for the end of a log.
//
// Once the store is open, it hides errors of the log from Pebble, and reports them to onFailure instead. Pebble panics on
// such an error with its mutexes held. Here the store ends all writing before the call returns, so no batch is
// acknowledged that the log lacks. After a failure no file of the log is written, renamed or removed any more: the next
// start finds them as the failure left them.
type logFS struct {
	vfs.FS
	dir       string // of the store
	logs      string // directory of the log's files
	step      int64  // number of zeros ahead; 0: none
	state     *logState
	enqueued  *atomic.Uint64 // number of the last batch that Pebble has
	onFailure func(error)

	opened  atomic.Bool // from now on errors are reported, not returned
	failed  atomic.Bool
	rotated atomic.Bool   // a log was begun since the last check of Store.admit
	counted atomic.Uint64 // number of the newest log that Pebble counts; Pebble begins a log before it counts it
	syncs   atomic.Int64
	extent  *logExtent // up to where logs are shown; nil: completely
	lock    io.Closer  // the lock of the directory, once Pebble has it
}

// Lock implements [vfs.FS]. It keeps the lock for unlock.
func (l *logFS) Lock(name string) (io.Closer, error) {
	lock, err := l.FS.Lock(name)
	l.lock = lock
	return lock, err
}

// unlock releases the lock that an abandoned Pebble has on the directory (Store.openInTime), so that the process can open
// it again.
func (l *logFS) unlock() error {
	if l.lock == nil {
		return nil
	}
	return l.lock.Close()
}

// logExtent is the end of the readable part of a damaged log.
type logExtent struct {
	number uint64 // of the last log that is shown
	size   int64  // bytes of it
}

// logNumber returns the number of a log with one of Pebble's names.
func (l *logFS) logNumber(name string) (number uint64, ok bool) {
	if !strings.HasSuffix(name, ".log") || l.PathDir(name) != l.dir {
		return 0, false
	}
	n, _, ok := wal.ParseLogFilename(l.PathBase(name))
	return uint64(n), ok
}

// Create implements [vfs.FS].
func (l *logFS) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	number, ok := l.logNumber(name)
	if !ok {
		return l.FS.Create(name, c)
	}
	return l.begin(number, func() (vfs.File, error) { return l.FS.Create(l.state.path(number), c) })
}

// ReuseForWrite implements [vfs.FS]. Pebble only reuses logs.
func (l *logFS) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	old, ok := l.logNumber(from)
	number, also := l.logNumber(to)
	if !ok || !also {
		return l.FS.ReuseForWrite(from, to, c)
	}
	return l.begin(number, func() (vfs.File, error) {
		if err := l.state.drop(old); err != nil {
			return nil, err
		}
		if err := l.FS.Rename(l.state.path(old), l.state.path(number)); err != nil {
			return nil, err
		}
		return l.FS.OpenReadWrite(l.state.path(number), c)
	})
}

// begin makes the file of a new log, and makes its name durable before Pebble can write to it.
func (l *logFS) begin(number uint64, open func() (vfs.File, error)) (vfs.File, error) {
	l.rotated.Store(true)
	if l.failed.Load() {
		return nowhere()
	}
	if err := l.makeDir(); err != nil {
		return nil, err
	}
	file, err := open()
	if err == nil {
		err = errors.Join(syncDir(l.FS, l.logs), l.state.add(number, l.enqueued.Load()))
	}
	var size int64
	if err == nil {
		var info vfs.FileInfo
		if info, err = file.Stat(); err == nil {
			size = info.Size()
		}
	}
	if err != nil && file != nil {
		_ = file.Close()
	}
	if err = l.report(err); err != nil {
		return nil, err
	}
	if l.failed.Load() {
		return nowhere()
	}
	return &logFile{File: file, fs: l, step: l.step, filled: size}, nil
}

// makeDir makes the directory of the logs, and makes its name durable, while the store is being opened.
func (l *logFS) makeDir() error {
	if l.opened.Load() {
		return nil
	}
	if _, err := l.FS.Stat(l.logs); err == nil {
		return nil
	}
	if err := l.FS.MkdirAll(l.logs, 0o755); err != nil {
		return err
	}
	return syncDir(l.FS, l.dir)
}

// nowhere returns a file in memory for writes to a log that has failed. Its content is never read; the next batches fail
// before they are enqueued.
func nowhere() (vfs.File, error) { return vfs.NewMem().Create("log", vfs.WriteCategoryUnspecified) }

// report handles the result of a call. Once the store is open an error ends all writing, and report returns nil. It calls
// onFailure before it returns, so a ticket that sees success of its sync finds the store dead.
func (l *logFS) report(err error) error {
	if err == nil || !l.opened.Load() {
		return err
	}
	l.failed.Store(true)
	l.onFailure(err)
	return nil
}

// Remove implements [vfs.FS]. It removes the log from the state file before it removes the file. After a failure the log
// stays, and Remove reports success.
func (l *logFS) Remove(name string) error {
	number, ok := l.logNumber(name)
	if !ok {
		return l.FS.Remove(name)
	}
	if l.failed.Load() {
		return nil
	}
	if err := l.state.drop(number); err != nil {
		return err
	}
	return l.FS.Remove(l.state.path(number))
}

// Open implements [vfs.FS]. It shows the readable part of a damaged log (Options.Damaged).
func (l *logFS) Open(name string, o ...vfs.OpenOption) (vfs.File, error) {
	number, ok := l.logNumber(name)
	if !ok {
		return l.FS.Open(name, o...)
	}
	file, err := l.FS.Open(l.state.path(number), o...)
	if err == nil && l.extent != nil && number == l.extent.number {
		return shortened{file, io.LimitReader(file, l.extent.size)}, nil
	}
	return file, err
}

// Stat implements [vfs.FS].
func (l *logFS) Stat(name string) (vfs.FileInfo, error) {
	if number, ok := l.logNumber(name); ok {
		name = l.state.path(number)
	}
	return l.FS.Stat(name)
}

// List implements [vfs.FS]. It shows the logs under Pebble's names.
func (l *logFS) List(dir string) ([]string, error) {
	names, err := l.FS.List(dir)
	if err != nil || l.PathJoin(dir) != l.dir {
		return names, err
	}
	logs, err := l.FS.List(l.logs)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for _, log := range logs {
		digits, ok := strings.CutSuffix(log, logSuffix)
		number, _, named := wal.ParseLogFilename(digits + ".log")
		if ok && named && (l.extent == nil || uint64(number) <= l.extent.number) {
			names = append(names, digits+".log")
		}
	}
	return names, nil
}

// Unwrap implements [vfs.FS].
func (l *logFS) Unwrap() vfs.FS { return l.FS }

// logFile is a log that is being written from its beginning. Pebble uses it from one goroutine at a time.
type logFile struct {
	vfs.File
	fs     *logFS
	step   int64 // number of zeros ahead; 0 after there was no room for them
	end    int64 // of the log in the file
	filled int64 // of the file: the bytes before were written at least once
}

// Write implements [vfs.File]. After a failure it writes nothing and reports success: see logFS.
func (f *logFile) Write(p []byte) (int, error) {
	if f.fs.failed.Load() {
		return len(p), nil
	}
	n, err := f.File.Write(p)
	f.end += int64(n)
	if err != nil {
		if err = f.fs.report(err); err == nil {
			n = len(p)
		}
	}
	return n, err
}

// SyncData implements [vfs.File]. If the log has outgrown its file, the same sync writes zeros, up to the next multiple
// of step beyond its end.
func (f *logFile) SyncData() error {
	if f.fs.failed.Load() {
		return nil
	}
	if f.end > f.filled && f.step > 0 {
		f.fill((f.end/f.step + 1) * f.step)
	}
	f.fs.syncs.Add(1)
	return f.fs.report(f.File.SyncData())
}

// Sync implements [vfs.File]. fdatasync also writes the size of a file that grew; a log needs no more.
func (f *logFile) Sync() error { return f.SyncData() }

// SyncTo implements [vfs.File]. The bytes are durable only if it returns true.
func (f *logFile) SyncTo(length int64) (bool, error) {
	if f.fs.failed.Load() {
		return true, nil
	}
	full, err := f.File.SyncTo(length)
	return full, f.fs.report(err)
}

// Close implements [vfs.File].
func (f *logFile) Close() error { return f.fs.report(f.File.Close()) }

// fill writes zeros from the end of the log on. It ignores errors: a disk without room for zeros may still have room for
// the log.
func (f *logFile) fill(to int64) {
	zeros := make([]byte, min(to-f.end, zerosWrite))
	f.filled = f.end
	for f.filled < to {
		n, err := f.File.WriteAt(zeros[:min(to-f.filled, zerosWrite)], f.filled)
		f.filled += int64(n)
		if err != nil {
			f.step = 0
			return
		}
	}
}

// shortened is a file that ends early.
type shortened struct {
	vfs.File
	in io.Reader
}

// Read implements [vfs.File].
func (s shortened) Read(p []byte) (int, error) { return s.in.Read(p) }

// syncDir makes the names in a directory durable.
func syncDir(fs vfs.FS, path string) error {
	dir, err := fs.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
