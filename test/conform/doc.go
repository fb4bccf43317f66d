// Package conform has suites for things with more than one implementation: each runs the same checks against whatever
// it gets.
//
//   - Client runs the XRootD client against a server: Hemera's door, or the stock server, which StockServer starts.
//   - protocol/ runs checks of the protocol, in Python with the stock client library, against a running server.
//   - cluster/ has tests that need a whole cluster. crash/, storm/, tape/ and netwatch/ need the program itself.
//
// Cutter is a proxy that cuts connections, for tests of reconnecting clients. A suite leaves nothing behind: it works in
// a directory of its own.
//
// # Rules of a suite
//
// A suite takes what it tests as an argument and names no implementation. Where implementations may differ, it accepts each
// result that the contract allows, and nothing else. Where one cannot do something at all, the part skips itself with the
// reason. Content comes from seeds, so that a failure shows the same bytes again.
package conform
