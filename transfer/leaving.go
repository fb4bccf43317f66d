package transfer

import (
	"hemera/transfer/extents"
	"hemera/words/hemera"
)

// A client whose connection is lost has [hemera.PendingHold] to come back. The end of its write then follows from what
// was acknowledged. A library that finds its connection lost when it closes may tell its user that all is well, so what a
// close would have committed must not be thrown away if the node has acknowledged that it is safe:
//
//	a sync was acknowledged                       closed
//	a new content has all of its announced bytes  closed, unless the client was told of a failure
//	anything else that has bytes                  kept for a person to take or to drop: see kept
//	nothing was written                           removed
//
// If its node ends before that, what was synced is kept by the next process: see found.
//
// What was synced and has fewer bytes than were announced is kept too: its close would be refused.
//
// Closed means what a close of the client would have meant, with each reason for which that can fail. If the manager refuses the
// commit, the content is kept as well: nobody was told. An update without a sync
// is never closed: its announced size says nothing about which of its bytes are new. Neither is a direct write: its client, which
// is Hemera's own, takes no lost connection for a close, and says that it failed.

// leaving has the facts that decide that. The holder of a write's turn has it.
type leaving struct {
	covered extents.Set // bytes of a new content whose size was announced
	synced  bool        // a sync was acknowledged
	failed  bool        // the client was told of a failure
	ends    bool        // the client did not come back: the close is the node's own, or a person's
}

// wrote takes note of accepted bytes.
func (l *leaving) wrote(c *hemera.Capability, from, to int64) {
	if c.Access == hemera.AccessCreate && c.Size > 0 {
		l.covered.Add(from, to)
	}
}

// complete reports whether a content of the size has every byte that was announced, and no more. Bytes that a client sent by
// several ways arrive in any order, so the size alone does not tell.
func (l *leaving) complete(announced, size int64) bool {
	return announced > 0 && size == announced && !l.covered.Guessed() && l.covered.Covers(0, size)
}
