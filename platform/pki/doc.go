// Package pki is the trust between a cluster's manager and its nodes: a certificate authority of the cluster's own, the
// certificates it signs, and the join tokens by which a new node gets its first one. Users are not its business; see
// package auth.
//
// # Main types
//
// An [Authority] lives in the manager. It signs node certificates, makes and redeems join tokens, and says which node a TLS
// connection belongs to. [Credentials] live in a node: its certificate and key, with the addresses of the manager.
// A [Token] is what an admin copies from the one to the other; a [TokenRecord] is what the manager keeps of it.
//
// # Files
//
// authority.pem in the manager's state directory holds the CA certificate and its key; node.pem in a node's holds
// certificate, key, CA certificate and addresses. Both have mode 0600 and are replaced by rename, durably. A process with
// authority.pem is the manager, so it is never replaced by the program (DESIGN.md).
//
// # Life of a node's certificate
//
//	token ls/create        Enrol               Keep: after 2/3 of a year        after a year
//	  (no certificate) ──→ valid, signed by ──→ renewed, the same NodeID ──→ … ──→ refused: join again
//	                       the token's CA
//
// Authorization is not in a certificate: a node that was removed still has a valid one, and the manager refuses it by
// its NodeID.
//
// # Concurrency
//
// Authority and Credentials are safe for concurrent use. Authority.mu guards memory only. Redeeming and removing tokens
// take turns, because reading a token's record and marking it used is one step; a caller waits for its turn while
// another's record is written. Keep blocks until its context ends; everything else returns after its I/O.
package pki
