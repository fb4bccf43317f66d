// Package backup saves and restores the state of a manager: the namespace, the cluster's records, the cluster's
// certificate authority and the keys of tapes, in one archive as of one moment (format: docs/formats/backup.md, package
// kv/archive).
//
//   - [Live] takes an archive from a running manager, [Offline] from the directory of a stopped one, also one whose log
//     is damaged.
//   - [Restore] makes a manager's directory from an archive. Ids, generations and epochs of the restored namespace
//     begin above all that the lost one can have used, because disks may have pieces of files that were made after the
//     backup. fsck calls these "newer"; namespace.Restored and cluster.Restored set the boundaries.
//   - [Rekey] makes a new authority if the file is lost.
//
// An archive has the cluster's secrets: its files are readable by their owner only. DESIGN.md gives the reasons.
//
// Writing is crash-safe in this order: the store is made as namespace.restoring, then the authority's file and the keys
// are written and synced, then a rename gives the store its name. A manager refuses a directory in which the rename is
// missing.
package backup
