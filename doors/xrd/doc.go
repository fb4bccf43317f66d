// Package xrd is the XRootD door: it speaks the protocol with clients and turns each request into
// one call of a hemera interface. A manager's door answers everything about names itself and sends
// opens to nodes; a node's door serves open files and sends everything about names to the manager.
//
// One connection is one goroutine: it parses requests, runs them in the order they came, and
// collects answers, which are written when no further complete request is waiting. Clients rely on
// that order. Only three things leave the goroutine: reads whose answers go out on a bound
// connection (each has a worker), and slow work, a checksum or a third-party copy, which is promised with
// kXR_waitresp and answered later.
//
// Section numbers in comments are those of the XRootD protocol specification 5.2.0.
package xrd
