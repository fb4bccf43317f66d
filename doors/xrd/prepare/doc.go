// Package prepare is what the XRootD door does with kXR_prepare and `query prepare`, and with opens of files that are on tape:
// requests to bring files to disk, which outlive the client that makes them.
//
// With hemera.Staging a request is durable and every call is one of that interface. Without it there is no tape: all files are
// on disk, a request is done when it is answered, and its id is remembered in memory, so that clients may ask and cancel as
// they are used to.
//
// The package knows no connection. Its methods take the lines of a request and return the body of the answer; they block as
// long as the services do. Words and JSON fields are those of EOS with CTA, which clients parse.
package prepare
