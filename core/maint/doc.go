// Package maint keeps files whole in the background: it has disks remove pieces that no file has any
// more, empties disks that are to be drained, makes the pieces of lost disks and of incomplete files
// anew, and compares what disks hold with the namespace.
//
// Nodes do the work: the engine decides on a view, gives nodes orders and records the results in the
// namespace. All of its state can be lost: what is to be done is read from the namespace again. Every
// kind of work has the shape of worker; decisions are pure functions (plan.go, compare.go).
package maint
