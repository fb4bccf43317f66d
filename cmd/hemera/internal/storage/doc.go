// Package storage has the commands for what stores the bytes: disks (hemera fs), nodes, spaces and the tokens
// by which nodes join. They ask the manager's admin API and are for admins.
//
// One file has one command, named for it: fs_ls.go is hemera fs ls. disks.go and sums.go make the records that tables
// show and that -m and -j print:
//
//   - A record is made from one view of the cluster and the list of jobs. It does not change while it is shown.
//   - Keys are EOS's where EOS has one, because tools of EOS read them (cmd/hemera/exporter_test.go lists which). A key of something
//     that Hemera does not have is there with the value 0, and a table never shows it.
//   - Units are in the key: bytes, mb (10^6 bytes a second), mib (2^20), ms; times are seconds since 1970.
//   - What an admin wants (configstatus, cfg.status) and what a node reports (stat.*) are different keys.
//
// Commands that destroy something count first what is at stake ([adminapi.Impact]), print it, and need consent: see
// fs_rm.go and node_rm.go.
//
// FindNode, ParseDisk and JobLine serve other commands too. Every command makes a few calls and ends; nothing is kept
// between commands, and nothing here is used by two goroutines.
package storage
