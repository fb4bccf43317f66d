// Package schema is the stored form of the namespace: the keys of its tables and the records under them.
// docs/formats/namespace.md is the reference, byte by byte; this package is its only implementation.
//
// # Tables
//
// Every key begins with [Space] and the letter of its table. Numbers in keys are big-endian, so that a table is
// one range, ids within it are in order, and the names of one directory are neighbours. Three tables are the tree:
//
//	entry      parent, name → entry        what a path is looked up with
//	location   id → parent, name           what an id is looked up with
//	directory  id → times and tree totals  what changes with every commit below
//
// Everything else follows from entries, or is a record of something that is under way: lists of pieces by disk,
// pieces to remove, incomplete files, tombstones, quota nodes with their accounts, and the event log.
//
// # Codecs
//
// Each record has Append and Decode functions; Encode is Append to a new slice. A decoder accepts exactly what
// its encoder writes: FuzzDecode in the tests proves that any accepted record has one form. Records that may
// grow begin with a version byte, and an older program refuses a newer version. Where a version 2 exists, it is
// written only if its fields are needed, so that older records stay as they are.
//
// An entry has one decoder with two results: [DecodeEntry] makes the whole entry, [EntryHeader] reads only what
// other records follow from, without allocating. Checks of whole trees and the counting of quotas use headers.
//
// A record that cannot be decoded is [ErrRecord]; [Damaged] adds the key and says what an admin can do.
//
// The package has no state and does no I/O. Its functions may be called from any goroutine.
package schema
