// Package pki authenticates a cluster's manager and its nodes to each other: with the cluster's own certificate
// authority, the certificates that it signs, and the join tokens with which a new node gets its first certificate.
// Package auth authenticates users.
//
// # Main types
//
// An [Authority] is in the manager. It signs node certificates, makes and redeems join tokens, and identifies the node of
// a TLS connection. [Credentials] are in a node: its certificate and key, with the addresses of the manager. An admin
// copies a [Token] from the manager to the node; the manager keeps a [TokenRecord] of it.
//
// # Files
//
// authority.pem in the manager's state directory has the CA certificate and its key; node.pem in a node's holds
// certificate, key, CA certificate and addresses. Both have mode 0600 and are replaced by rename, durably. A process with
// authority.pem is the manager, so the program never replaces the file (DESIGN.md).
//
// # Life of a node's certificate
//
//	token ls/create        Enrol               Keep: after 2/3 of a year        after a year
//	  (no certificate) ──→ valid, signed by ──→ renewed, the same NodeID ──→ … ──→ refused: join again
//	                       the token's CA
//
// A certificate does not authorize: a removed node still has a valid one, and the manager refuses it by its NodeID.
//
// # Concurrency
//
// Authority and Credentials are safe for concurrent use. Authority.mu guards memory only. Only one call at a time redeems
// or removes a token, because reading a token's record and marking it used is one step; other calls wait while the record
// is written. Keep blocks until its context ends; all other functions return after their I/O.
package pki
