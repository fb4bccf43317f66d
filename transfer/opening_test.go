package transfer_test

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"

	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// slowPeers are peers whose pieces open when the gate does.
type slowPeers struct {
	piece.Peers
	asked, gate chan struct{}
}

func (p slowPeers) Open(ctx context.Context, r piece.Remote, token string) (piece.Reader, error) {
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

// TestASmallCodedFileIsOpenedAhead: the one data piece of a file of one block is opened with the file, before anybody reads, and once. Nobody
// waits for that, and a close neither; of larger files no piece is opened before it is read.
func TestASmallCodedFileIsOpenedAhead(t *testing.T) {
	l := hemera.ReedSolomon(2, 1).WithBlockSize(64 << 10)
	for _, c := range []struct {
		size  int
		ahead bool
	}{{1, true}, {64 << 10, true}, {64<<10 + 1, false}, {1 << 20, false}} {
		synctest.Test(t, func(t *testing.T) {
			b := newMemoryBench(t, 4)
			p := content(c.size)
			b.layout = l
			file := b.put(91, p, 2, 3, 4) // node 1 has none of it
			slow := slowPeers{b.peers, make(chan struct{}, 9), make(chan struct{})}
			b.hosts[0].host.Peers = slow
			token, _ := b.read(file)
			// One that is closed while the piece is opened.
			closed := b.open(1, token, hemera.NodeOpen{})
			synctest.Wait()
			if got := len(slow.asked) == 1; got != c.ahead {
				t.Errorf("%d bytes: %d pieces were asked for before a read", c.size, len(slow.asked))
			}
			if err := closed.End(ctx, hemera.EndClose); err != nil {
				t.Error(err)
			}
			close(slow.gate)
			synctest.Wait()
			for len(slow.asked) > 0 {
				<-slow.asked
			}
			f := b.open(1, token, hemera.NodeOpen{})
			synctest.Wait()
			got := make([]byte, min(c.size, 64<<10))
			if _, err := f.ReadPages(got, nil, 0); err != nil || !bytes.Equal(got, p[:len(got)]) {
				t.Errorf("%d bytes: %v", c.size, err)
			}
			if len(slow.asked) != 1 {
				t.Errorf("%d bytes: a read of one block took %d opens", c.size, len(slow.asked))
			}
			_ = f.End(ctx, hemera.EndClose)
		})
	}
}
