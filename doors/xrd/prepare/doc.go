// Package prepare serves kXR_prepare, `query prepare`, and opens of files on tape for the XRootD door: requests to bring
// files to disk, which outlive the client that makes them.
//
// With tapeapi.Staging a request is durable, and each call is one call of that interface. Without it there is no tape: all
// files are on disk, a request is done when it is answered, and its id is kept in memory, so that clients can ask about
// it and cancel it as usual.
//
// The package does not depend on connections. Its methods take the lines of a request and return the body of the answer;
// they block as long as the services. Words and JSON fields are those of EOS with CTA, which clients parse.
package prepare
