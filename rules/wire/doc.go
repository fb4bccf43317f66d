// Package wire is the XRootD protocol, version 5.2.0, as bytes: constants, and how each message is
// encoded and decoded, for both ends of a connection. It is pure: it reads no socket, keeps no
// state, and never allocates by a length that the other side claims without having sent the bytes.
//
// All integers are big endian. A request is a [RequestHeader] of 24 bytes and Length bytes of
// payload; a response is a [ResponseHeader] of 8 bytes and Length bytes of body. Section numbers in
// comments are those of the XRootD protocol specification 5.2.0.
//
// # How the package is made
//
// Each message is a struct. A request has ID and Body, which encode its fixed 16 bytes, and a function DecodeX that reads them;
// its payload is text or has functions of its own. An answer has Append and ParseX. Parse functions judge: what they return fits
// the protocol, or the error is an [*Error] with the code that a server answers with. Decode functions do not judge, since
// every 16 bytes are some request; offsets and lengths may be negative.
//
// Appending functions follow the habit of package strconv: they take a buffer and return it with the message behind, so that
// a server needs no allocation. Slices that a function returns alias the message unless it says otherwise.
//
// # Files
//
// session.go has handshake, login and authentication; open.go, read.go and write.go the life of a handle; page.go pages with
// checksums; names.go, dirlist.go, stat.go and fattr.go the tree; response.go errors, redirects and waits; codes.go and flags.go
// all numbers; hemera.go what Hemera adds. golden_test.go has messages written by hand from the protocol's tables.
package wire
