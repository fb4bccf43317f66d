// Package files has the commands for files and directories.
//
//   - ls, cp, mkdir, rm, mv, stat, cat and chmod speak the XRootD protocol. They work from any machine and with any
//     server of the protocol, also one that is not Hemera.
//   - chown, attr, find, du and file ask the admin API of a Hemera manager, because the protocol has no such request.
//     The manager checks what the caller may see and change.
//
// Paths: an argument is /exp/a or :/exp/a on the cluster of --url, or a full root:// URL. cp also takes local files, so
// its paths on the cluster need the colon; see cli.PathHelp.
//
// A command with many arguments continues after one that fails, prints each error and ends with exit code 1.
//
// Concurrency: rm removes rmParallel entries at a time, cp copies --parallel files at a time (package client/copy). Both
// report through a type with a mutex (removal, teller) that guards counters and the terminal's progress line; no call to
// a server is made under it. Everything else is one request after the other.
package files
