// Package nsload makes a tree of very many files at once, to measure a namespace with it. Without commits, it writes
// every record that these commits would have written, into a store that is not used otherwise.
//
// # How a tree is made
//
// A tree is computed: ids are given breadth first, so that entries in the order of their keys are in the order of their
// ids, and each part of a table can be made without the rest. Goroutines make the parts in parallel, as sorted runs (see
// [hemera/platform/kv.Loader]). Other records change, too: totals above the tree, usage of disks, the end of the ids, one
// event. The namespace computes them ([namespace.Graft]), and they are written as further runs.
//
// The engine takes all runs over in one step. Before that nothing is visible. After a crash the store has all of the tree
// or none, and the next start removes the files of an interrupted load. The store needs room for one copy of the tree,
// and none for a log.
//
// Memory does not grow with the tree. Load blocks for as long as the tree takes to write: about two minutes for a hundred
// million files on a fast disk.
package nsload
