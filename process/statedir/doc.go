// Package statedir manages the directory in which a manager, a node or a whole `hemera up` keeps its state: its layout,
// its lock, and the checks before a server starts from it.
//
//	DIR/                  of a manager                 DIR/           of hemera up
//	  namespace/          the store                      up.json      how many nodes and disks, see [UpShape]
//	  authority.pem       the cluster's authority        manager/     a manager's directory
//	  tape-keys/          secrets of tapes, see [TapeKeys] node1/ …   directories of nodes
//	  settings.toml       what hemera config set set; in DIR of hemera up too. See package config
//	  namespace.restoring a restore that did not end     disk1/ …     folders used as disks
//
// Rules:
//
//   - Only one process uses a directory. [LockDir] locks it with flock(2), which ends with the process in any case.
//   - The store is readable by its owner only: it has the keys that sign capabilities ([Private]).
//   - A server never starts from an incomplete directory: an authority without a store ([CheckStore]; the filesystem
//     may not be mounted), or an unfinished restore ([CheckRestored]).
//
// Commands that work on the store of a manager that does not run use [Open].
//
// The package has no state; every function is safe for concurrent use, and blocks on the disk.
package statedir
