package sim

import (
	"context"
	"fmt"
	"slices"
	"time"

	"hemera/test/sim/register"
	"hemera/words/hemera"
)

// leftover is what a write may leave at its path although nobody closes it: once a sync was asked for, its node commits what it
// has when the client does not come back. To the oracle each content from then on is a change in doubt.
type leftover struct {
	path   string
	base   []byte // of an update
	synced bool
	doubts []*register.Change
	closed bool // the close succeeded, so none of them happens any more
	unsure bool // the close may have happened, or may happen later
	oracle *register.Oracle
}

// after is what the write holds when p was written up to an end.
func (l *leftover) after(p []byte, end int) []byte {
	if end >= len(l.base) {
		return p[:end]
	}
	return append(slices.Clone(p[:end]), l.base[end:]...)
}

// sync is called before the content is synced.
func (l *leftover) sync(h *handle, content []byte) {
	l.synced, l.oracle = true, h.client.w.oracle
	l.becomes(h, func() []byte { return content })
}

// becomes is called before a change of the content.
func (l *leftover) becomes(h *handle, content func() []byte) {
	if !l.synced {
		return
	}
	c := l.oracle.Begin(l.path, h.client.name+" synced, not closed", register.ContentOf(content()))
	l.oracle.Wrote(c, h.grant.Permit)
	l.doubts = append(l.doubts, c)
}

// end is called when the client is done with the write. It reports whether the file may get a content of it later.
func (l *leftover) end() bool {
	for _, c := range l.doubts {
		l.oracle.End(c, false, l.closed)
	}
	return !l.closed && (l.unsure || len(l.doubts) > 0)
}

// dropKept drops what nodes keep for a person. The last restart had nodes find what was synced before it, and wait for its clients; what
// they could commit is committed by then.
func (j judge) dropKept(ctx context.Context) {
	h := j.w.head.Load()
	var left []hemera.WriteInfo
	kept := func() (err error) {
		left, err = h.Writes.Writes(ctx, hemera.SystemIdentity())
		for _, l := range left {
			if err == nil && l.State != hemera.WriteKept {
				err = fmt.Errorf("the write %+v is still under way", l)
			}
		}
		return err
	}
	if !j.comes(ctx, hemera.PendingHold+5*time.Minute, func() bool { return kept() == nil }) {
		j.w.fail("writes do not end: %v", kept())
	}
	for _, l := range left {
		_, err := h.Writes.EndWrite(ctx, hemera.SystemIdentity(), l.ID, false)
		j.w.trace.Add("sim", "a person drops %s, fxid %s gen %d: %v", l.Path, l.File.Hex(), l.Gen, err)
		if err != nil {
			j.w.fail("the kept write %+v cannot be dropped: %v", l, err)
		}
	}
}
