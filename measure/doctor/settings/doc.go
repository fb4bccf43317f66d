// Package settings changes settings of the kernel as findings of package doctor recommend, and restores them.
//
// [Plan] returns the changes. [Apply] writes the current values durably to the undo file, and then changes the settings
// one by one. [Undo] restores the settings that still have the value of Apply. A setting that was changed since is left
// unchanged, and stays in the file.
//
// All files are below a root, "/" for this machine; only those of /sys and /proc/sys are written. Settings of the kernel
// are lost after a restart of the machine. Undo then finds the old value, and has nothing to do.
//
// Two processes must not use one undo file at a time.
package settings
