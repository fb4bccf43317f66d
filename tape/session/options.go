package session

import (
	"context"
	"time"

	"hemera/platform/contain"
	"hemera/tape/device"
	"hemera/tape/volume"
	"hemera/words/tapeapi"
)

// Jobs gives a session its jobs, in the order in which they are to be done.
type Jobs interface {
	// Next returns up to so many jobs of up to so many bytes together, but at least one if there is one. None, or last, ends the session
	// when everything before is done.
	Next(ctx context.Context, files int, bytes int64) (jobs []tapeapi.Work, last bool, err error)
}

// Source opens files on disk that are to be archived. It waits for the manager and a node.
type Source interface {
	// Open fails with NotFound or Conflict when the content of the job is gone: the job is void then.
	Open(ctx context.Context, job tapeapi.Work) (Content, error)
}

// Content is an open file at a node. ReadAt blocks for the node.
type Content interface {
	// ReadAt fills p from an offset, with verified bytes, or fails: with Corrupt if the file ends before. Several calls run at a time.
	ReadAt(ctx context.Context, p []byte, offset int64) error
	// Close ends all use. It does not wait for the node, and never fails.
	Close() error
}

// Sink makes files on disk for recalls. It waits for the manager and a node. Nothing of a file is durable before its Commit.
type Sink interface {
	// Create fails with NotFound or Conflict when nobody needs the file any more: the job is void then.
	Create(ctx context.Context, job tapeapi.Work) (Target, error)
}

// Target is a file that a recall writes. One goroutine uses it. Commit or Abort ends it. Nothing is visible or durable before Commit.
type Target interface {
	// Write appends, and keeps no reference to p. It blocks while too much is on its way to the node, and fails when an earlier
	// write has failed there.
	Write(ctx context.Context, p []byte) error
	// Commit makes the file durable and visible, and waits for that. Conflict: the recall is void. After Timeout or Unavailable the file may be there.
	Commit(ctx context.Context) error
	// Abort drops what was written. It does not wait for the node.
	Abort(ctx context.Context)
}

// Journal takes the results. Report returns when they are durable, and retries by itself what may pass; its error ends the session. A session sets
// Written, Failed, Done, Full and Session.
type Journal interface {
	Report(ctx context.Context, r tapeapi.Results) error
}

// Limits bound a session. Zero values are those of [DefaultLimits].
type Limits struct {
	Chunk   int // bytes of a buffer and of one read from disk
	Buffers int
	Window  int // buffers of one file, thus reads that are outstanding for it
	// FlushFiles, FlushBytes and FlushAfter say when what was written is flushed and reported: whichever comes first, after a file.
	FlushFiles int
	FlushBytes int64
	FlushAfter time.Duration
	// Jobs of up to PackBelow bytes that follow each other go to one container of up to PackBytes; negative: never.
	PackBelow int64
	PackBytes int64
	// BatchFiles and BatchBytes are what is asked of Jobs at a time.
	BatchFiles int
	BatchBytes int64
	// Open bounds the recalled files that are not committed yet.
	Open int
}

// DefaultLimits takes 256 MiB for a drive. A flush stops a drive for about 3 s, that is 2 % of the 160 s that 64 GB take.
func DefaultLimits() Limits {
	return Limits{
		Chunk: 4 << 20, Buffers: 64, Window: 10,
		FlushFiles: 1000, FlushBytes: 64e9, FlushAfter: 5 * time.Minute,
		PackBelow: 4 << 20, PackBytes: 64 << 20,
		BatchFiles: 1000, BatchBytes: 64e9,
		Open: 32,
	}
}

// filled replaces zero values, and keeps values in bounds that depend on each other.
func (l Limits) filled() Limits {
	d := DefaultLimits()
	set(&l.Chunk, d.Chunk)
	set(&l.Buffers, d.Buffers)
	set(&l.Window, d.Window)
	set(&l.FlushFiles, d.FlushFiles)
	set(&l.FlushBytes, d.FlushBytes)
	set(&l.FlushAfter, d.FlushAfter)
	set(&l.PackBelow, d.PackBelow)
	set(&l.PackBytes, d.PackBytes)
	set(&l.BatchFiles, d.BatchFiles)
	set(&l.BatchBytes, d.BatchBytes)
	set(&l.Open, d.Open)
	// A recall fills buffers with whole blocks, and a unit must get all its buffers.
	l.Chunk = max(l.Chunk, volume.BlockSize)
	l.Window = min(l.Window, l.Buffers)
	l.PackBelow = min(l.PackBelow, int64(l.Chunk))
	l.PackBytes = min(l.PackBytes, int64(l.Buffers/2)*int64(l.Chunk)) // slabs may be half empty
	return l
}

// set gives a value that is zero its default.
func set[T int | int64 | time.Duration](value *T, otherwise T) {
	if *value == 0 {
		*value = otherwise
	}
}

// ArchiveOptions has the parts and settings of an archive session.
type ArchiveOptions struct {
	Volume  *volume.Volume
	Known   volume.Known // what the catalogue knows of the end of the tape
	Jobs    Jobs
	Source  Source
	Journal Journal
	Common
}

// RecallOptions has the parts and settings of a recall session.
type RecallOptions struct {
	Volume  *volume.Volume
	Jobs    Jobs
	Sink    Sink
	Journal Journal
	Common
}

// Common is the same for both.
type Common struct {
	Limits Limits
	Now    func() time.Time // time.Now when nil
	// Monitor counts stops of the drive, where it can.
	Monitor device.Monitor
	// OnTheWay returns the time for which contents have been on their way over the network, of all time; nil where it is not known, and all that a
	// session waits for its Source or Sink counts as disk.
	OnTheWay func() time.Duration
	// Progress gets the figures so far after each file, and some times a second within a long one, in the goroutine of the tape.
	Progress func(tapeapi.Session)
	// Panics contains panics of the work on one file, which fails then, and of the goroutine of the tape, which ends the session.
	Panics *contain.Panics
}
