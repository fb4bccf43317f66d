// Package bench has the commands of `hemera bench`, which measure machines, network, namespace and cluster.
//
// Each level is a package below measure; this package has its flags and its place in a run. A session runs levels one
// after another, shows their progress, and writes the directory of the run: result.json is written after every level, so
// that an interrupted run keeps its results.
//
// # A run
//
//  1. The levels check their flags, before anything is made.
//  2. The session makes the directory. It fails if the directory has a result.
//  3. Each level measures into a Recorder of its own. A level that fails ends with a note, and the next one begins.
//  4. After each level the session writes result.json, whole or not at all.
//  5. Package report makes report.html and the plots.
//  6. The table of all measures is printed, with the skipped parts and the reasons.
//
// # Interruptions
//
// Ctrl-C ends the context of the running level. The level removes its files, and returns; the session keeps its samples,
// sets Run.Stopped and begins no further level. A second Ctrl-C ends the process at once.
//
// # Machines of the cluster
//
// With --nodes a nodesLevel takes the place of the level. It asks the manager, which gives an order to each node; the
// node's machine runs `hemera bench` with the same arguments, in a process of its own, and returns its result.json.
//
//   - Orders are sent at the same time, so the machines begin within a few milliseconds.
//   - A node that fails does not stop the others. Their results are kept, and the first error is the command's.
//   - Every measure gets the label node. Throughputs are added up by the number of their iteration, as node=all. Other
//     measures, such as latencies, have no sum.
//   - For net, any two nodes make a pair. Pairs are measured one after another: two that share a link would disturb
//     each other. The node with the higher number serves, and the other one measures both directions.
//   - Ctrl-C ends the call to the manager, which ends the order, and the node interrupts the process.
//
// A node decides which arguments it accepts: see package process/measuring.
//
// # Goroutines
//
// The command's goroutine runs the levels. A level may have others, which use its Recorder. One more goroutine draws the
// progress line, and shares only the line with them.
//
// # Files of a run
//
//	result.json    all samples and their conditions, whole or not at all; the only file that programs need
//	report.html    the report, made from result.json alone, so `hemera bench report` can make it again
//	plots/         the figures of the report, each as SVG, PNG, CSV and JSON
//	raw/           the texts that fio, iperf3 and others printed, to check a figure
//
// Units are those of result.json: bytes, seconds, B/s, and shares from 0 to 1. Tables for people scale them.
//
// # Errors
//
// A wrong flag is an error of the command line (exit code 2) before anything is made. A missing program or right skips a
// part, with the remedy, and is not an error. If a level fails, the command fails with its error after all other levels
// have been measured and the result was written.
//
// # A new level
//
// A new level needs a type with the methods of level, a command in Command, and a place in allLevels. The report needs no
// code for it: the level defines its figures as result.Figure.
package bench
