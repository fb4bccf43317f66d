// Package host reads information of a Linux kernel about its machine: its hardware, and its load.
//
// Functions named Parse are pure, and take the text of a file. Functions named Read take a root, so that recorded trees
// of other machines test whatever judges them. The root of the machine itself is "/".
//
// # Counters
//
// The kernel counts from its start. A load is the difference of two readings, so each counter has a method Since:
//
//	before, err := host.ReadCPU("/")
//	… the load …
//	after, err := host.ReadCPU("/")
//	load := after.Since(before) // shares by role, of the machine and of each core
//
// # Roles
//
// A core spends its time as usr (programs, also those with low priority), sys (the kernel on behalf of programs), irq and
// soft (interrupts, most of all of the network), steal (another guest had the core) or idle (also while programs wait for
// a disk).
//
// # What to know of the counters
//
// Times have the resolution of a tick, 10 ms, so a load of less than a second has coarse shares. Interrupts are counted
// exactly only by kernels with CONFIG_IRQ_TIME_ACCOUNTING; others note what runs at each tick. The statistics of block
// devices count requests after merging, so that their mean size is what the device sees and not what a program asked for.
// A guest's device is what its hypervisor shows: the page cache of the machine below may be behind it.
//
// Nothing here keeps state, and all functions are safe for concurrent use.
package host
