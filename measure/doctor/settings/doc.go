// Package settings changes settings of the kernel as findings of package doctor recommend, and puts them back.
//
// [Plan] is what would change. [Apply] writes what was there before into the undo file, durably, and then changes the settings one by one. [Undo] puts
// back what has the value that Apply gave it. A setting that somebody changed since is left alone, and stays in the file.
//
// All files are below a root, "/" for this machine; only those of /sys and /proc/sys are written. Settings of the kernel are gone after
// a restart of the machine. Undo then finds the value from before, and has nothing to do.
//
// Two processes must not use one undo file at a time.
package settings
