// Package statedir knows the directory in which a manager, a node or a whole `hemera up` keeps its state: what is
// where in it, who may open it, and when a server must not start from it.
//
//	DIR/                  of a manager                 DIR/           of hemera up
//	  namespace/          the store                      up.json      how many nodes and disks, see [UpShape]
//	  authority.pem       the cluster's authority        manager/     a manager's directory
//	  tape-keys/          secrets of tapes, see [TapeKeys] node1/ …   directories of nodes
//	  settings.toml       what hemera config set set; in DIR of hemera up too. See package config
//	  namespace.restoring a restore that did not end     disk1/ …     folders used as disks
//
// Rules that everything here keeps:
//
//   - One process has a directory. [LockDir] takes it by flock(2), which ends with the process however it ends.
//   - The store is readable by its owner only: it has the keys that sign capabilities ([Private]).
//   - A server never starts from a directory that shows that something is missing: an authority without a store
//     ([CheckStore], a file system that is not mounted looks like that), or an unfinished restore ([CheckRestored]).
//
// Commands that work on the store of a manager that does not run use [Open].
//
// Nothing here has state of its own; every function may be called from any goroutine, and blocks for the disk.
package statedir
