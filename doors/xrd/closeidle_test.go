package xrd

import (
	"io"
	"testing"
	"time"

	"hemera/rules/wire"
	"hemera/words/hemera"
)

// CloseIdle closes only unused connections: never one with an open file.
func TestCloseIdleSparesOpenFiles(t *testing.T) {
	p := newPair(t, nil)
	p.put("/f", "original")
	quiet, reader := dial(t, p.nodeAddr), dial(t, p.nodeAddr)
	fh := p.openOld(t, reader, "/f", hemera.AccessRead)
	silent := bare(t, p.nodeAddr) // has not logged in
	gone := make(chan struct{})
	for _, c := range []*rawConn{silent, quiet} {
		go func() {
			_, _ = io.Copy(io.Discard, c)
			gone <- struct{}{}
		}()
	}
	deadline, again := time.After(20*time.Second), time.NewTicker(20*time.Millisecond)
	defer again.Stop()
	for closed := 0; closed < 2; {
		select {
		case <-gone:
			closed++
		case <-again.C:
			p.node.CloseIdle()
		case <-deadline:
			t.Fatal("connections that nobody misses are kept")
		}
	}
	if got := reader.must(t, wire.Read{Handle: fh, Length: 8}, ""); string(got) != "original" {
		t.Errorf("read %q", got)
	}
}
