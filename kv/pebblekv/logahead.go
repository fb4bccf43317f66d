package pebblekv

import (
	"strings"

	"github.com/cockroachdb/pebble/v2/vfs"
)

const (
	// aheadMax is how far zeros run ahead of a log, in bytes: some hundred changes. Half of what was
	// written ahead may never be used; the file is small all the same.
	aheadMax = 256 << 10
	// aheadShare is which part of a memory table, which is about one log, they are at most.
	aheadShare = 16
	// aheadWrite is how much is written at a time. The kernel keeps what came in one write in folios as
	// large, and each sync looks through the folio that it writes a page of.
	aheadWrite = 64 << 10
)

// logsAhead is a filesystem on which Pebble's log is overwritten instead of appended to. A sync of a
// file that grew writes its inode besides its data, or commits the filesystem's journal; one of a
// block that was there before writes the block. So a log that has outgrown its file gets zeros behind
// its end in the same sync, and the next some hundred syncs write data alone.
//
// Pebble's reader takes zeros for the end of a log, and a log that another one had before, which is
// what Pebble itself makes of old logs, for its own end: a sum and the log's number are in each chunk.
type logsAhead struct {
	vfs.FS
	step int64
}

// newLogsAhead is for memory tables of the size in bytes.
func newLogsAhead(fs vfs.FS, table int64) logsAhead {
	return logsAhead{FS: fs, step: min(aheadMax, table/aheadShare)}
}

// Create implements vfs.FS.
func (l logsAhead) Create(name string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := l.FS.Create(name, c)
	if err != nil || !strings.HasSuffix(l.PathBase(name), ".log") {
		return file, err
	}
	return &logAhead{File: file, step: l.step}, nil
}

// ReuseForWrite implements vfs.FS. Pebble reuses logs only.
func (l logsAhead) ReuseForWrite(from, to string, c vfs.DiskWriteCategory) (vfs.File, error) {
	file, err := l.FS.ReuseForWrite(from, to, c)
	if err != nil {
		return nil, err
	}
	log := &logAhead{File: file, step: l.step}
	if info, err := file.Stat(); err == nil {
		log.filled = info.Size()
	}
	return log, nil
}

// Unwrap implements vfs.FS.
func (l logsAhead) Unwrap() vfs.FS { return l.FS }

// logAhead is a log that is being written from its beginning, by one goroutine at a time.
type logAhead struct {
	vfs.File
	step   int64
	end    int64 // of the log
	filled int64 // of the file: what is before was written once
}

// Write implements vfs.File.
func (f *logAhead) Write(p []byte) (int, error) {
	n, err := f.File.Write(p)
	f.end += int64(n)
	return n, err
}

// SyncData implements vfs.File.
func (f *logAhead) SyncData() error {
	if f.end > f.filled && f.step > 0 {
		f.fill((f.end/f.step + 1) * f.step)
	}
	return f.File.SyncData()
}

// fill writes zeros from the end of the log on. A disk without room for them may have room for the log.
func (f *logAhead) fill(to int64) {
	zeros := make([]byte, min(to-f.end, aheadWrite))
	f.filled = f.end
	for f.filled < to {
		n, err := f.WriteAt(zeros[:min(to-f.filled, aheadWrite)], f.filled)
		f.filled += int64(n)
		if err != nil {
			f.step = 0
			return
		}
	}
}
