// Package nsload makes a tree of very many files at once, to measure how a namespace behaves with it. It writes every
// record that as many commits would have written, past commits, into a store that nobody else uses.
//
// A tree is arithmetic: ids are given breadth first, so that entries in the order of their keys are in the order of
// their ids, and any part of any table can be made without the rest. Goroutines make the parts in parallel, as sorted
// runs that the engine takes over all at once (see [hemera/platform/kv.Loader]).
package nsload
