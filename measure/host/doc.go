// Package host reads information of a Linux kernel about its machine: its hardware, and its load.
//
// Functions named Parse are pure, and take the text of a file. Functions named Read take a root, so that recorded trees
// of other machines can test the code that judges them. The root of the machine itself is "/".
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
// soft (interrupts, mostly of the network), steal (another guest had the core) or idle (also while programs wait for a
// disk).
//
// # Precision of the counters
//
// Times have the resolution of a tick, 10 ms, so a load of less than a second has coarse shares. Interrupts are counted
// exactly only by kernels with CONFIG_IRQ_TIME_ACCOUNTING; others record only the work that runs at each tick. The
// statistics of block devices count requests after merging, so their mean size is that at the device and not that of a
// program's requests. The device of a guest is made by its hypervisor: reads from it may come from the page cache of the
// host.
//
// Nothing here keeps state, and all functions are safe for concurrent use.
package host
