// Package translate is the dictionary of the XRootD door: requests in the protocol's words become requests of the hemera
// interfaces, and what those return becomes answers, flags and error numbers. It is pure: it does no I/O, keeps no
// state, and knows no connection.
//
// What clients write in the opaque part of a path is read here too, with EOS's keys beside Hemera's.
package translate
