// Package files has the commands for files and directories. ls, cp, mkdir, rm, mv, stat, cat and chmod speak the XRootD
// protocol and work with any server of it. chown, attr, find, du and file ask the admin API of a Hemera manager.
package files
