// Package slowdevice is a block device with the latency and the rate of a real one, for measurements and tests on machines whose disks
// answer from memory.
//
// A FUSE file system has one file, "device", whose content is that of a backing file. Each request waits as it would at a device: the
// requests share a bus of a certain rate, one after another, and each of them takes a latency besides, all at the same time. So one small
// request after another gives size/(latency + size/rate), and enough requests at once give the rate. A loop device over the file, with
// direct I/O, makes a block device of it, with the kernel's own read-ahead and queue.
//
// Pages that repeat one byte are kept as that byte, in memory, and are lost when the device ends. So a device may be larger than the room for
// its backing file, if what is written to it is chosen so.
//
// It needs root, /dev/fuse and a loop device. Nothing is durable beyond the backing file's own durability.
package slowdevice
