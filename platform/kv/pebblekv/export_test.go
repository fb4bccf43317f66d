package pebblekv

import "github.com/cockroachdb/pebble/v2/vfs"

// OpenUncompacted opens a store in which nothing goes on by itself: where the list of tables cannot be written, a
// compaction would end the process.
func OpenUncompacted(dir string, fs vfs.FS) (*Store, error) {
	return Open(dir, Options{FS: fs, MemTableBytes: 64 << 10, uncompacted: true})
}
