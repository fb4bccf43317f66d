// Package wire encodes and decodes the messages of the XRootD protocol, version 5.2.0, for both ends of a connection. It
// is pure: it reads no socket, keeps no state, and never allocates memory by a length in a message unless the bytes are
// there.
//
// All integers are big endian. A request is a [RequestHeader] of 24 bytes and Length bytes of payload; a response is a
// [ResponseHeader] of 8 bytes and Length bytes of body. Section numbers in comments are those of the XRootD protocol
// specification 5.2.0.
//
// # Conventions
//
// Each message is a struct. A request has ID and Body, which encode its fixed 16 bytes, and a function DecodeX that reads
// them; its payload is text or has functions of its own. An answer has Append and ParseX. Parse functions check: their
// result is valid in the protocol, or the error is an [*Error] with the code for the server's answer. Decode functions do
// not check, since any 16 bytes are a request; offsets and lengths may be negative.
//
// Append functions work like those of package strconv: they append the message to a buffer and return it, so that a
// server needs no allocation. Slices that a function returns alias the message unless it says otherwise.
//
// # Files
//
// session.go has handshake, login and authentication; open.go, read.go and write.go the life of a handle; page.go pages
// with checksums; names.go, dirlist.go, stat.go and fattr.go the tree; response.go errors, redirects and waits; codes.go
// and flags.go all numbers; hemera.go Hemera's additions. golden_test.go has messages written by hand from the protocol's
// tables.
package wire
