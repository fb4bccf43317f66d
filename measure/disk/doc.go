// Package disk measures disks level by level: the raw device, the file system on it, one and many streams, one and many
// disks, and the effect of read-ahead. fio makes the load; the kernel's block statistics show the requests at the device.
//
// # Tests
//
// A run is a list of steps, which [plan] makes of the options and the places. A step is one run of fio under one set of
// conditions:
//
//	ramp        1 to N streams at each disk: E's ramp of 1 to 15 streams that write, read, and both
//	scaling     1 to N disks at once, one stream each: A's Fig. 1
//	read-ahead  one buffered stream with the device's read-ahead from 128 KiB to 64 MiB: E's sweep
//
// A to E are the sources of docs/bench. All steps run once in each iteration, in their order. So a disturbance of some
// seconds changes one sample of several measures, not all samples of one.
//
// # Reads and writes
//
//   - Reads are cold: fio drops the pages of its file before each step. The pages of programs stay, also those of fio
//     itself.
//   - A buffered read ends at the end of its file, because a second pass would come from memory. Direct reads begin
//     again.
//   - Writes make new files, and end with an fsync, whose time counts. Random writes overwrite a file whose blocks are
//     all allocated.
//   - Sequential requests are 1 MiB, in the read-ahead test 128 KiB, random ones 4 KiB.
//   - A stream has one request in flight, like a copy. More streams make more requests.
//   - Random loads are direct only: with the page cache they would measure its size.
//
// # Files and devices
//
// In a given directory, a run puts its files into a new directory, which it removes at the end, also when the context
// ends. It opens a device for reading only, unless Options.WriteDevice names it. Only root can set the read-ahead of a
// device; the run restores it at the end, also when the context ends.
//
// # Goroutines
//
// One goroutine runs the steps. During a step of the read-ahead test another one reads /proc/diskstats. It ends before
// the step does.
package disk
