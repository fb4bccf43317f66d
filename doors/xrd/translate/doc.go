// Package translate converts between the XRootD protocol and the hemera interfaces: requests of the protocol become
// requests of the interfaces, and their results become answers, flags and error codes. It is pure: it does no I/O, keeps
// no state, and does not depend on connections.
//
// It also parses the opaque part of a path, with EOS's keys beside Hemera's.
package translate
