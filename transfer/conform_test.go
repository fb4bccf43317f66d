package transfer_test

import (
	"testing"

	"hemera/transfer/transfertest"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// fixture makes a new file at a bench of hosts with the numbers.
func (b *bench) fixture(file int, on ...int) transfertest.FileFixture {
	token, c := b.grant(file, 1, on...)
	open := func(token string, o hemera.NodeOpen) (hemera.File, error) {
		return b.hosts[0].Open(ctx, hemera.ParsePermit(token), o)
	}
	begun := false
	return transfertest.FileFixture{
		Write: func() (hemera.File, error) {
			o := hemera.NodeOpen{Truncate: !begun}
			begun = true
			return open(token, o)
		},
		Read: func() (hemera.File, error) {
			b.manager.mu.Lock()
			_, committed := b.manager.committed[hemera.PieceID{File: c.File, Gen: c.Gen}]
			b.manager.mu.Unlock()
			if !committed {
				return nil, errs.New(errs.NotFound, "read", c.Path, "it is not committed")
			}
			token, _ := b.read(c)
			return open(token, hemera.NodeOpen{})
		},
	}
}

// TestFilesConform runs the suite of files, of one and of several pieces, here and elsewhere, in memory first and not.
func TestFilesConform(t *testing.T) {
	for name, on := range map[string][]int{"one piece here": {1}, "one piece elsewhere": {2}, "two pieces": {1, 2}, "three pieces, none here": {2, 3, 4}} {
		for _, inline := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				b := newMemoryBench(t, 4)
				if !inline {
					b.noSmall()
				}
				file := 0
				transfertest.RunFile(t, func(*testing.T) transfertest.FileFixture {
					file++
					return b.fixture(file, on...)
				})
			})
		}
	}
}

func TestPiecesConform(t *testing.T) {
	b := newMemoryBench(t, 2)
	file := 0
	transfertest.RunPiece(t, func(*testing.T) transfertest.PieceFixture {
		file++
		token, _ := b.grant(file, 1, 1, 2)
		return transfertest.PieceFixture{Write: func() (hemera.PieceHandle, error) {
			return b.hosts[1].OpenPiece(ctx, hemera.ParsePermit(token), b.asHead(token, 2, 1))
		}}
	})
}

// TestLocalPeersConform runs the suite of peers on those within a process.
func TestLocalPeersConform(t *testing.T) {
	b := newMemoryBench(t, 2)
	file := 0
	transfertest.RunPeers(t, func(*testing.T) transfertest.PeerFixture {
		file++
		token, c := b.grant(file, 1, 1, 2)
		return transfertest.PeerFixture{Peers: b.peers, Target: c.Targets[1], Write: token, Head: b.asHead(token, 2, 1).Head, Read: func() string { return token }}
	})
}
