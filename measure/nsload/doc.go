// Package nsload makes a tree of very many files at once, to measure a namespace with it. Without commits, it writes
// every record that these commits would have written, into a store that is not used otherwise.
//
// # How a tree is made
//
// A tree is arithmetic: ids are given breadth first, so that entries in the order of their keys are in the order of their
// ids, and any part of any table can be made without the rest. Goroutines make the parts in parallel, as sorted runs (see
// [hemera/platform/kv.Loader]). What exists around the tree changes, too: totals above it, usage of disks, the end of the
// ids, one event. The namespace says how ([namespace.Graft]), and those records are runs like the others.
//
// The engine takes all runs over at once. Before that nothing is visible; after a crash there is all or nothing, and the
// next start removes what an interrupted load wrote. The store needs room for the tree once, not for a log of it.
//
// Memory does not grow with the tree. Load blocks for as long as the tree takes to write: about two minutes for a hundred
// million files on a fast disk.
package nsload
