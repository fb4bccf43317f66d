// Package service holds the suites of the interfaces that a manager serves. Every implementation runs them: the manager, its
// clients over a network, and the fakes that other tests use in its place. A fake that passes here may stand for a manager.
//
// A suite makes no demand that the doc comments of the interface do not make. What an implementation lacks it says in its
// options, and the suite leaves that out; it never weakens what is left.
//
// A test of an implementation gives a suite a function that starts it, new and empty, for each case:
//
//	service.Names(t, func(t *testing.T) service.NamesOptions {
//		return service.NamesOptions{Names: newTree(t), Who: admin, Dir: "/suite"}
//	})
//
// # What the suites leave to other tests
//
// Access of several users, quotas, policies and placement differ between a manager and its fakes on purpose; the tests of the
// manager and of namespace have them. Durability and concurrency are proven by test/sim. Kinds of errors are compared,
// texts are not: their readers are people.
package service
