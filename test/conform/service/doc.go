// Package service holds the suites of the interfaces that a manager serves. Every implementation runs them: the manager, its
// clients over a network, and the fakes that other tests use in its place. A fake that passes here may stand for a manager.
//
// A suite makes no demand that the doc comments of the interface do not make. What an implementation lacks it says in its
// options, and the suite leaves that out; it never weakens what is left.
package service
