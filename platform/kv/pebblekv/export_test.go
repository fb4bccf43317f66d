package pebblekv

import (
	"flag"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// PebbleScheduler has all tests leave compactions to Pebble's own scheduler: go test ./platform/kv/pebblekv -args
// -pebblescheduler. TestWithPebbleScheduler runs them so.
var PebbleScheduler = flag.Bool("pebblescheduler", false, "leave compactions to Pebble's own scheduler")

// OpenUncompacted opens a store in which nothing goes on by itself: where the list of tables cannot be written, a
// compaction would end the process.
func OpenUncompacted(dir string, fs vfs.FS) (*Store, error) {
	return Open(dir, Options{FS: fs, MemTableBytes: 64 << 10, uncompacted: true})
}

// NoteNow writes the note of the last batch, without the wait for its time.
func NoteNow(s *Store) {
	s.mu.Lock()
	s.notes.seen = s.newest.seq
	s.mu.Unlock()
	s.notes.write(s)
}
