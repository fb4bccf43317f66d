// Package tool finds and runs the programs that make load: fio, iperf3 and their like.
//
// [Find] looks for a program and asks for its version. A program that is missing is an error of kind NotFound whose remedy says how
// to get it; a level skips with it what it cannot measure. [Program.Run] runs the program in a process group of its own, so that
// Ctrl-C in a terminal reaches Hemera alone. When the context ends, the group gets SIGTERM, after [grace] SIGKILL: no load goes on
// after a level has returned. What a program writes is bounded.
//
// Programs run with LC_ALL=C: their numbers have a point in every country.
package tool
