// Package bench measures Hemera beside the C++ xrootd server with canonical loads, and prints ratios.
//
// Absolute rates on a machine that others use mean little, so every row is measured on both servers
// in turn, round after round, and what is reported is the median of the rounds' ratios. Server CPU
// is the process's CPU clock, which counts threads that have ended, and is far less noisy than rates.
// Where there are four cores or more, servers have the first two and clients the next two.
//
// The load generator speaks the protocol over plain blocking sockets, with a locked thread for each connection, so that
// the client is no limit. It follows redirects as clients do and keeps its connections: for Hemera an open costs a
// request at the manager and one at the node.
//
// A row (rows.go) is a load: its name, its preparation and its measured step, at 1, 4 and 16 connections. A round
// measures every row once on each server; a Result has the samples of all rounds. report.go prints tables of medians
// and can compare two results, which is how a regression is found.
//
// Every thread owns its session and buffers; threads meet at the start and the end of a measurement only.
//
// # What a row measures
//
// Preparation and cleaning are not timed and not counted as CPU. The timed step includes all answers, so no work of a request is left
// out. What a server does after its answers does not count for its row; before the next row begins, settle waits for it.
//
// # Goals
//
// Rows at a head have a goal: what plain files cost in the same run, and what a thread pays that only encodes, sends or receives as
// many bytes (head.go). Such a thread does nothing that a head can leave out, so the goal is a limit, and not the figure of a peer.
//
// # Memory
//
// Where the host of a virtual machine takes free memory back, memory that is taken again costs up to four times the CPU. Nothing here
// can tell. scripts/hold-memory.py keeps the memory with the machine.
//
// # What makes figures comparable
//
// Both servers run at the same time on the same cores and filesystem, in memory, with checksums of content and syncs off: what
// differs is their code. The order of the two changes with each round, so that neither always finds a warm machine.
// Rows of coded layouts are measured beside plain files at another server of the same build (coded.go), with all pieces at one
// node, and with all but one at another process, which is not counted (head.go).
//
// Rows beside EOS compare with figures measured once (eos.go), on a durable cluster with two replicas.
package bench
