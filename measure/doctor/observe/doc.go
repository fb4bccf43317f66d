// Package observe takes snapshots of machines for package doctor: it reads information of the kernel, and measures level
// by level.
//
// # What it does to a machine
//
// It changes no setting and leaves nothing. Each file system gets one temporary file, unlinked from its beginning
// (O_TMPFILE), so that it ends with the process. Its size is at most [Options].Size, and a tenth of the free space.
// Device reads are of the blocks of that file. A machine in service is slower for the time of the measurements: each
// takes Options.For, and there are six for each file system.
//
// # Recorded machines
//
// All of /proc and /sys is read below Options.Root. With another root than "/" nothing is measured: the tree is of
// another machine.
//
// # Noise
//
// A measurement is repeated for its time, and the best pass counts: other work makes passes slower, never faster. So a
// finding from a comparison of two rates needs no idle machine.
package observe
