// Package thinlog limits the log lines that strangers can cause.
//
// Every failed connection, handshake or request of a client may write a line that names its address (attribute remote
// or peer). A scanner, or one broken client, would fill the disk of the log. The handler of this package writes a few
// of these lines for each address and message, a larger number for all addresses together, and at the end of each
// interval one line that counts what it left out.
//
// Lines without a remote address always pass. So do errors, which an admin must see, and debugging lines, which
// somebody asked for.
//
// A handler is safe for concurrent use. Its mutex guards counters only; the next handler is called without it.
package thinlog
