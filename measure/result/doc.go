// Package result has the results of a benchmark: samples, conditions, and the plots to draw.
//
// A run of `hemera bench` writes one directory: result.json (a Run), the raw output of every program under raw/, and the
// report that package report makes of both. The schema of result.json is in docs/formats/result.md. It is stable: fields
// are added, and none changes its meaning without a new number of Schema.
//
// # Words
//
//	Run      all measurements of one command
//	Level    one part of a run: disk, net, io, ns, energy, interference, tape
//	Measure  one quantity under one set of conditions, with all its samples
//	Labels   the conditions: load=read, streams=4, layout=rs:4+2
//	Figure   the measures of a plot, by name and labels; a report needs no code for a level
//
// A level adds to a Recorder while it measures. The recorder is safe for use by several goroutines, and writes
// result.json at the end of each level, so that an interrupted run keeps its results.
//
// # Units
//
// Rates of bytes are in B/s, of operations in 1/s, times in s, energy in J, power in W, shares in 1 (0.61 is 61 %).
// Reports choose prefixes; a result has none.
package result
