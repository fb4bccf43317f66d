package sim

import (
	"slices"

	"hemera/test/sim/register"
)

// leftover is the content that a write may leave at its path although no client closes it: once a sync was asked for, its
// node commits what it has when the client does not come back. To the oracle each content from then on is a change in
// doubt.
type leftover struct {
	path   string
	base   []byte // of an update
	synced bool
	doubts []*register.Change
	closed bool // the close succeeded, so none of them happens any more
	unsure bool // the close may have happened, or may happen later
	oracle *register.Oracle
}

// after returns the content of the write when p was written up to an end.
func (l *leftover) after(p []byte, end int) []byte {
	if end >= len(l.base) {
		return p[:end]
	}
	return append(slices.Clone(p[:end]), l.base[end:]...)
}

// sync records that the content is about to be synced.
func (l *leftover) sync(h *handle, content []byte) {
	l.synced, l.oracle = true, h.client.w.oracle
	l.becomes(h, func() []byte { return content })
}

// becomes records that the content is about to change.
func (l *leftover) becomes(h *handle, content func() []byte) {
	if !l.synced {
		return
	}
	c := l.oracle.Begin(l.path, h.client.name+" synced, not closed", register.ContentOf(content()))
	l.oracle.Wrote(c, h.grant.Permit)
	l.doubts = append(l.doubts, c)
}

// end records that the client is done with the write. It reports whether the file may get a content of it later.
func (l *leftover) end() bool {
	for _, c := range l.doubts {
		l.oracle.End(c, false, l.closed)
	}
	return !l.closed && (l.unsure || len(l.doubts) > 0)
}
