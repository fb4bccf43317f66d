// Package scale measures a manager whose namespace grows: trees are loaded into one store, one after
// the other, and after each the manager is started in a process of its own with the smallest cache
// there is, and asked.
//
// # Processes
//
// The parent loads trees and starts children, which are the same program. A child opens the store as a manager, measures, and
// writes a [Result] as JSON. So the memory and the CPU of a child are those of a manager, without what loading left in the heap.
// Nodes are goroutines of the child that send heartbeats and hold nothing: no row reads or writes content.
//
// # What is cold
//
// Before each start, and before rows of "any file", the store's files are dropped from the page cache ([Evict]). Other files
// of the machine stay, so no right to drop all caches is needed. The manager's own cache is the smallest that there is.
package scale
