package xrd

import (
	"fmt"
	"testing"

	"hemera/client/xrootd"
	"hemera/transfer/peers"
	"hemera/transfer/transfertest"
	"hemera/words/hemera"
)

// TestFakesConform checks that the files and pieces of this package's tests fulfil the contracts of real ones.
func TestFakesConform(t *testing.T) {
	m := newPair(t, nil).memory
	names := 0
	grant := func(t *testing.T, path string, access hemera.Access) (*hemera.Permit, error) {
		t.Helper()
		g, err := m.grantOpen(hemera.OpenRequest{Path: path, Access: access})
		return g.Permit, err
	}
	create := func(t *testing.T) (string, *hemera.Permit) {
		names++
		path := fmt.Sprintf("/file%d", names)
		p, err := grant(t, path, hemera.AccessCreate)
		if err != nil {
			t.Fatal(err)
		}
		return path, p
	}
	t.Run("files", func(t *testing.T) {
		transfertest.RunFile(t, func(t *testing.T) transfertest.FileFixture {
			path, permit := create(t)
			begun := false
			return transfertest.FileFixture{
				Write: func() (hemera.File, error) {
					o := hemera.NodeOpen{Truncate: !begun}
					begun = true
					return m.Open(t.Context(), permit, o)
				},
				Read: func() (hemera.File, error) {
					p, err := grant(t, path, hemera.AccessRead)
					if err != nil {
						return nil, err
					}
					return m.Open(t.Context(), p, hemera.NodeOpen{})
				},
			}
		})
	})
	t.Run("pieces", func(t *testing.T) {
		transfertest.RunPiece(t, func(t *testing.T) transfertest.PieceFixture {
			_, permit := create(t)
			return transfertest.PieceFixture{Write: func() (hemera.PieceHandle, error) {
				return m.OpenPiece(t.Context(), permit, hemera.PieceOpen{})
			}}
		})
	})
}

// TestPeersConform runs the suite of peers over this door.
func TestPeersConform(t *testing.T) {
	p := newPair(t, nil)
	nodes := peers.New(xrootd.Options{Chunk: 64 << 10, Window: 256 << 10})
	defer nodes.Close()
	names := 0
	transfertest.RunPeers(t, func(t *testing.T) transfertest.PeerFixture {
		names++
		path := fmt.Sprintf("/piece%d", names)
		g, err := p.memory.grantOpen(hemera.OpenRequest{Path: path, Access: hemera.AccessCreate})
		if err != nil {
			t.Fatal(err)
		}
		return transfertest.PeerFixture{Peers: nodes, Target: g.Permit.Targets[0], Write: tokenOf(g), Head: "head", Read: func() string {
			g, err := p.memory.grantOpen(hemera.OpenRequest{Path: path, Access: hemera.AccessRead})
			if err != nil {
				t.Fatal(err)
			}
			return tokenOf(g)
		}}
	})
}
