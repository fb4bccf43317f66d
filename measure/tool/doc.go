// Package tool finds and runs the programs that make load: fio, iperf3 and their like.
//
// [Find] looks for a program and gets its version. If the program is missing it fails with NotFound and a remedy that
// says how to install it; a level then skips the measurement. [Program.Run] runs the program in a process group of its
// own, so that Ctrl-C in a terminal reaches Hemera alone. When the context ends, the group gets SIGTERM, after [grace]
// SIGKILL: no load continues after a level has returned. The output of a program is bounded.
//
// Programs run with LC_ALL=C: their numbers have a point in every country.
package tool
