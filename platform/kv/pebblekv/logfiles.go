package pebblekv

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// logMagic begins each file of the log.
	logMagic = "hemlog2\n"
	// logSuffix ends its name, which is a number. Clean-up jobs and lists of what a backup leaves out match
	// "*.log", so that is no name for a file which must not be lost; older stores have it.
	logSuffix    = ".journal"
	oldLogSuffix = ".log"
	// aheadMax is how far zeros run ahead of a log, in bytes: some hundred changes. Half of what was
	// written ahead may never be used; the file is small all the same.
	aheadMax = 256 << 10
	// aheadShare is which part of a file they are at most.
	aheadShare = 16
	// aheadWrite is how much is written at a time. The kernel keeps what came in one write in folios as
	// large, and each sync looks through the folio that it writes a page of.
	aheadWrite = 64 << 10
	// fullMax is how many full files may wait for Pebble to write its tables, besides the one that became
	// full last. It bounds what Pebble has in memory.
	fullMax = 1
)

// files are those of a log. One is written, from its beginning to its end; when it is full, Pebble is
// asked to write what it has in memory to tables, and once that is done the file is used again under
// a new number. Numbers only grow, and so do those of the batches: what is left of an older log behind
// the end of a newer is known to be old.
//
// A file is overwritten rather than appended to. A sync of a file that grew writes its inode besides its
// data, or commits the filesystem's journal; one of a block that was there before writes the block. So
// a log that has outgrown its file gets zeros behind its end in the same sync, and the next some
// hundred syncs write data alone.
type files struct {
	fs  vfs.FS
	dir string
	max int64 // bytes of a file, unless one write has more
	// tables are where batches go before their file is used again.
	tables *tables

	mark mark // of the records

	file   vfs.File // nil before the first
	number uint64
	end    int64 // of the log in the file
	filled int64 // of the file: what is before was written once
	ahead  int64
	full   []fullFile // oldest first
}

// fullFile is superfluous when its batches are in tables.
type fullFile struct {
	number  uint64
	flushed <-chan struct{}
}

func logName(number uint64) string { return fmt.Sprintf("%06d", number) + logSuffix }

// logNumber is the number of a log's file; not ok for other names.
func logNumber(name, suffix string) (number uint64, ok bool) {
	digits, ok := strings.CutSuffix(name, suffix)
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, ok && err == nil && fmt.Sprintf("%06d", number) == digits
}

func (f *files) path(number uint64) string { return f.fs.PathJoin(f.dir, logName(number)) }

// write makes records durable; all before are.
func (f *files) write(records []byte) error {
	if f.end > int64(len(logMagic)) && f.end+int64(len(records)) > f.max {
		if err := f.turn(); err != nil {
			return err
		}
	}
	n, err := f.file.Write(records)
	f.end += int64(n)
	if err != nil {
		return err
	}
	if f.end > f.filled && f.ahead > 0 {
		f.fill((f.end/f.ahead + 1) * f.ahead)
	}
	return f.file.SyncData()
}

// turn ends the file and begins the next. Once the next is there, the last record of the file names it, and
// then the tables that make the file superfluous do: so a start can tell that a file of the log is lost.
func (f *files) turn() error {
	if err := f.tables.room(); err != nil {
		return err
	}
	if len(f.full) >= fullMax {
		if err := f.tables.wait(f.full[0].flushed); err != nil {
			return err
		}
	}
	old, number := f.file, f.number
	if err := f.begin(); err != nil {
		return errors.Join(err, old.Close())
	}
	_, err := old.Write(successor(f.number).appendTo(nil, f.mark))
	if err == nil {
		err = old.SyncData()
	}
	if err = errors.Join(err, old.Close()); err != nil {
		return err
	}
	if err := f.tables.newest(f.number); err != nil {
		return err
	}
	flushed, err := f.tables.begin()
	f.full = append(f.full, fullFile{number, flushed})
	return err
}

// begin makes the next file, of one that is superfluous if there is any.
func (f *files) begin() (err error) {
	f.number++
	if old, ok := f.superfluous(); ok {
		err = f.reuse(old)
	} else {
		f.filled = 0
		f.file, err = f.fs.Create(f.path(f.number), vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		return err
	}
	n, err := f.file.Write([]byte(logMagic))
	f.end = int64(n)
	if err != nil {
		return err
	}
	return syncDir(f.fs, f.dir)
}

// superfluous takes the oldest full file out, if its batches are in tables. It removes all but one of those.
func (f *files) superfluous() (number uint64, ok bool) {
	for len(f.full) > 0 {
		select {
		case <-f.full[0].flushed:
		default:
			return number, ok
		}
		if ok {
			_ = f.fs.Remove(f.path(number)) // if it stays, the next start removes it
		}
		number, ok = f.full[0].number, true
		f.full = f.full[1:]
	}
	return number, ok
}

func (f *files) reuse(old uint64) error {
	err := f.fs.Rename(f.path(old), f.path(f.number))
	if err == nil {
		f.file, err = f.fs.OpenReadWrite(f.path(f.number), vfs.WriteCategoryUnspecified)
	}
	if err != nil {
		return err
	}
	info, err := f.file.Stat()
	if err == nil {
		f.filled = info.Size()
	}
	return err
}

// fill writes zeros from the end of the log on. A disk without room for them may have room for the log.
func (f *files) fill(to int64) {
	zeros := make([]byte, min(to-f.end, aheadWrite))
	f.filled = f.end
	for f.filled < to {
		n, err := f.file.WriteAt(zeros[:min(to-f.filled, aheadWrite)], f.filled)
		f.filled += int64(n)
		if err != nil {
			f.ahead = 0
			return
		}
	}
}

func (f *files) close() error {
	if f.file == nil {
		return nil
	}
	return f.file.Close()
}

func syncDir(fs vfs.FS, path string) error {
	dir, err := fs.OpenDir(path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}
