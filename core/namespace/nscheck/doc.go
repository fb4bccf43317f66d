// Package nscheck works out again everything that the namespace stores in more than one place, and names what does not
// agree: totals of directories, locations, lists of pieces, usage of disks, incomplete files, pieces to remove, quota
// accounts, the event log, and cached records. It repairs nothing.
//
// All tables are read from end to end on one snapshot, by a few goroutines, while the namespace goes on. An index is
// compared with the entries as a multiset: both sides are hashed and added up, in buckets of file ids (multiset.go).
// Only buckets that differ are read a second time, to name the records. Memory is 52 bytes a directory and a few MiB,
// so a tree of a billion files can be checked on the manager's own machine.
package nscheck
