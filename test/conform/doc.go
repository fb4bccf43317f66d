// Package conform has suites for things with more than one implementation: each runs the same checks against whatever
// it gets.
//
//   - Client runs the XRootD client against a server: Hemera's door, or the stock server, which StockServer starts.
//   - protocol/ runs checks of the protocol, in Python with the stock client library, against a running server.
//   - cluster/ and crash/ are tests that need a whole cluster, or the program itself.
//
// Cutter is a proxy that cuts connections, for tests of reconnecting clients. A suite leaves nothing behind: it works in
// a directory of its own.
package conform
