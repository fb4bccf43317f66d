// Package net measures a network path with iperf3: TCP and UDP, one stream and many, in each direction and both, and the
// use of the processors at its ends.
//
// # Ends
//
// The near end is this machine. The far end is one of three:
//
//   - loopback: the level starts iperf3 -s itself, at 127.0.0.1. One machine does the work of both ends, and the results
//     have path=loopback.
//   - `hemera bench net --serve ADDRESS` ([Serve]): iperf3 -s, and an HTTP server that answers readings of /proc/stat.
//   - an iperf3 -s of the user: then the processor time of the far end is that of its iperf3 process, as iperf3 reports
//     it.
//
// The far end must be trusted: its numbers are not checked. [Serve] listens at one address that its user names, has no
// authentication, and serves every client that reaches it.
//
// # Steps
//
// A step is one run of iperf3 under one set of conditions; [plan] makes all of them. Each iteration runs all steps in
// their order. Rates count the received data, without headers. UDP is sent as fast as the sender can, so a slower
// receiver always shows losses.
//
// # Processors
//
// Both ends read /proc/stat before and after a step. So the shares are of the whole machine, by role (usr, sys, irq,
// soft, steal, idle) and core, as the developer series on an aarch64 server has them (source D of docs/bench). Of a
// machine with more than [coresMax] cores, only those are kept that were busiest in the first iteration of a step:
// usually the core of the application, that of interrupts, and some more.
//
// # Limits
//
// A step lasts whole seconds, because iperf3 takes no fractions. A far end serves one client at a time: a second one
// fails with Overloaded, after ten attempts. Between two clients it may close its port for a moment, so a far end that
// has answered once gets as many attempts. The output of iperf3 is bounded by package tool, a reading of a far end by 1
// MiB, and every step by its time and a minute.
//
// # Goroutines
//
// One goroutine runs the steps. Another one reads the text of the server of the loopback path, until that server ends.
package net
