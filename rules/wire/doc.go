// Package wire is the XRootD protocol, version 5.2.0, as bytes: constants, and how each message is
// encoded and decoded, for both ends of a connection. It is pure: it reads no socket, keeps no
// state, and never allocates by a length that the other side claims without having sent the bytes.
//
// All integers are big endian. A request is a [RequestHeader] of 24 bytes and Length bytes of
// payload; a response is a [ResponseHeader] of 8 bytes and Length bytes of body. Section numbers in
// comments are those of the XRootD protocol specification 5.2.0.
package wire
