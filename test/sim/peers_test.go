package sim

import (
	"fmt"
	"testing"

	"hemera/transfer/transfertest"
	"hemera/words/hemera"
)

// TestPeersConform runs the suite of peers on those of a simulated node, whose network is slow but loses nothing here.
func TestPeersConform(t *testing.T) {
	inStill(t, func(s *still) {
		files := 0
		transfertest.RunPeersInBubble(s.t, func(t *testing.T) transfertest.PeerFixture {
			files++
			r := hemera.OpenRequest{Path: fmt.Sprintf("/piece%d", files), Access: hemera.AccessCreate, Mode: 0o644}
			g, err := s.head.Load().Files.Open(t.Context(), hemera.SystemIdentity(), r)
			if err != nil {
				t.Fatal(err)
			}
			token, err := g.Permit.Token()
			if err != nil {
				t.Fatal(err)
			}
			head := s.machine(g.Permit.Targets[0].Addr).life.Load()
			target := g.Permit.Targets[1]
			proof, err := head.keys.HeadProof(token, target.Node)
			if err != nil {
				t.Fatal(err)
			}
			// Only the head reads what is not committed: it opens the piece as for writing.
			return transfertest.PeerFixture{Peers: head.peers, Target: target, Path: r.Path, Head: proof, Write: token, Read: func() string { return token }}
		})
	})
}
