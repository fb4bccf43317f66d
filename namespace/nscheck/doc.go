// Package nscheck works out again everything that the namespace stores in more than one place, and names what does not
// agree. It repairs nothing: which of two records is right cannot be known here.
//
// # Passes
//
// All passes read one snapshot, from end to end of each table, while the namespace goes on:
//
//	directories  every id that has totals, so that sums have their place
//	entries      each entry against the indexes that follow from it: locations, lists of disks, incomplete files
//	tree         sums of directories, added up from children to parents
//	states       the stored totals against those sums
//	unlinked     pieces to remove: counted, and none of them in use
//	held         the same for pieces that are removed later, and their order of time
//	barred, renamed, broken  records about writes and pieces that contradict an entry
//	usages       what is stored of each disk against what was counted
//	eventLog     consecutive numbers between the stored bounds
//	quotas       accounts against the files that count in them (package accounts)
//	cached       records in the cache against the store, as both are now
//
// # How entries are compared
//
// To look up four records for each entry would take hours. Instead an index is compared as a multiset: each of its
// records must follow from one entry, so both sides are hashed and added up, in any order, in buckets of file ids
// (multiset.go). Only buckets that differ are read a second time, to name the records.
//
// # Problems
//
// A problem is a line of text that names the record by its id or its key. All problems are counted, and the first
// thousand are spelled out. A record that cannot be decoded is a problem too, and the check goes on behind it; only an
// error of the store itself ends a check. One damage can show as several problems, seen from both of its sides.
//
// # Cost
//
// Memory is 52 bytes a directory and a few MiB. The entry pass has a few goroutines, half of the processors unless
// the caller wants more; they share atomic columns and have sums of their own. Nothing waits for a check, but the
// snapshot keeps what is overwritten meanwhile.
package nscheck
