// Package storage has the commands for what stores the bytes: disks (hemera fs), nodes, spaces, groups and the tokens
// by which nodes join. They ask the manager's admin API and are for admins.
//
// Tables show the records that disks.go and sums.go make from a view of the cluster. The keys of a record are EOS's
// where EOS has one, because tools read them (-m); keys for things that Hemera does not have are 0.
package storage
