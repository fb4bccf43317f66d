package pebblekv

import (
	"flag"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// PebbleScheduler leaves compactions to Pebble's own scheduler in all tests: go test ./platform/kv/pebblekv -args
// -pebblescheduler. TestWithPebbleScheduler runs them in this way.
var PebbleScheduler = flag.Bool("pebblescheduler", false, "leave compactions to Pebble's own scheduler")

// OpenUncompacted opens a store without compactions: if the list of tables cannot be written, a compaction would end the
// process.
func OpenUncompacted(dir string, fs vfs.FS) (*Store, error) {
	return Open(dir, Options{FS: fs, MemTableBytes: 64 << 10, uncompacted: true})
}

// NoteNow writes the note of the last batch at once.
func NoteNow(s *Store) {
	s.mu.Lock()
	s.notes.seen = s.newest.seq
	s.mu.Unlock()
	s.notes.write(s)
}
