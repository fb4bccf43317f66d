// Package net measures a network path with iperf3: TCP and UDP, one stream and many, in each direction and both, and the
// use of the processors at its ends.
//
// # Ends
//
// The near end is this machine. The far end is one of three:
//
//   - loopback: the level starts iperf3 -s itself, at 127.0.0.1. One machine does the work of both ends, and results
//     say path=loopback.
//   - `hemera bench net --serve ADDRESS` ([Serve]): iperf3 -s, and an HTTP server that answers readings of /proc/stat.
//   - an iperf3 -s of the user: then the processor time of the far end is what iperf3 says of its own process.
//
// The far end must be trusted: its numbers are taken as they are. [Serve] listens at one address that its user names, has
// no authentication, and serves everyone who reaches it.
//
// # Steps
//
// A step is one run of iperf3 under one set of conditions; [plan] makes all of them. Each iteration runs all steps in
// their order. Rates are of what the receiver got, without headers. UDP is sent as fast as the sender can, so a loss is
// the rule where the receiver is slower.
//
// # Processors
//
// Both ends read /proc/stat before and after a step. So the shares are of the whole machine, by role (usr, sys, irq,
// soft, steal, idle) and core, as the developer series on an aarch64 server has them (source D of docs/bench). Of
// machines with more than [coresMax] cores those are kept which were busiest in the first iteration of a step: the one of
// the application, the one of interrupts, and some more.
//
// # Limits
//
// A step lasts whole seconds, as iperf3 has it. A far end serves one client at a time: a second one fails with
// Overloaded, after ten attempts. Between two clients it may close its port for a moment: a far end that has answered
// once is asked again as often. The output of iperf3 is bounded by package tool, a reading of a far end by 1 MiB, and
// every step by its time and a minute.
//
// # Goroutines
//
// One runs the steps. One more reads what the server of the loopback path writes, until that ends.
package net
