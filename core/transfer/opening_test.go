package transfer_test

import (
	"bytes"
	"context"
	"testing"

	"hemera"
	"hemera/core/transfer"
)

// slowPeers are peers whose pieces open when the gate does.
type slowPeers struct {
	transfer.Peers
	asked, gate chan struct{}
}

func (p slowPeers) Open(ctx context.Context, r transfer.RemotePiece, token string) (transfer.PeerReader, error) {
	p.asked <- struct{}{}
	<-p.gate
	return p.Peers.Open(ctx, r, token)
}

// TestOpeningAReplicaDelaysNobodyElse: while one read waits for another node's piece to open, as a page of the local one
// is bad, reads of good pages go on.
func TestOpeningAReplicaDelaysNobodyElse(t *testing.T) {
	b := newBench(t, 2)
	p := content(300_000)
	c := b.put(91, p, 1, 2)
	b.flip(c, 1, 5000)
	slow := slowPeers{b.peers, make(chan struct{}, 1), make(chan struct{})}
	b.hosts[0].host.Peers = slow
	token, _ := b.read(c)
	f := b.open(1, token, hemera.NodeOpen{})
	bad := make(chan error, 1)
	page := make([]byte, hemera.PageSize)
	go func() {
		_, err := f.ReadPages(page, nil, hemera.PageSize)
		bad <- err
	}()
	<-slow.asked
	good := make([]byte, 100_000)
	if _, err := f.ReadPages(good, nil, 200_000); err != nil || !bytes.Equal(good, p[200_000:]) {
		t.Errorf("a good page meanwhile: %v", err)
	}
	close(slow.gate)
	if err := <-bad; err != nil || !bytes.Equal(page, p[hemera.PageSize:2*hemera.PageSize]) {
		t.Errorf("the bad page: %v", err)
	}
	_ = f.End(ctx, hemera.EndClose)
}
