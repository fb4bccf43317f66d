// Package nsbench measures a namespace the way CERN's `ns benchmark` does: N workers with directories
// of their own make, look at, open and remove empty files, phase after phase, all workers at the same
// time.
//
// It differs where that tool flatters: an operation counts when it has succeeded, its change visible
// and durable, and not when it was tried; the time of a phase is from the start of all workers to the
// end of the last.
//
// [Run] drives any [Target], so that the same phases are measured inside the manager ([Service]) and
// through its door. Each worker counts by itself, in memory that does not grow with the run.
package nsbench
