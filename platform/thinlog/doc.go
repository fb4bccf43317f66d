// Package thinlog limits the log lines that unknown clients can cause.
//
// Every failed connection, handshake or request of a client may write a line that names its address (attribute remote or
// peer). A scanner, or one broken client, would fill the disk of the log. The handler of this package writes a few of
// these lines for each address and message, and a larger number for all addresses together. At the end of each interval
// it writes one line that counts the lines that it left out.
//
// Lines without a remote address always pass. So do errors, which an admin must see, and debugging lines, which an admin
// has switched on.
//
// A handler is safe for concurrent use. Its mutex guards counters only; the next handler is called without it.
package thinlog
