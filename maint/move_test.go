package maint

import (
	"strings"
	"testing"

	"hemera"
)

// signed is the last capability that was asked for.
type signed struct {
	hemera.Capability
	also []hemera.NodeID
}

func (s *signed) MintFor(c hemera.Capability, also ...hemera.NodeID) (string, error) {
	s.Capability, s.also = c, also
	return "token", nil
}

// Disks refuse pieces whose path is longer than paths may be.
func TestACopyOrderHasAPathThatPiecesTake(t *testing.T) {
	for _, length := range []int{0, 10, hemera.PathMax, hemera.PathMax + 1, 3 * hemera.PathMax} {
		s := &signed{}
		e := New(Options{Signer: s})
		path := strings.Repeat("p", length)
		if length > 2 {
			path = path[:length-2] + "/f"
		}
		if _, err := e.copyOrder(move{entry: hemera.Entry{Name: "f"}, path: path}); err != nil {
			t.Fatal(err)
		}
		if got := s.Path; len(got) != min(length, hemera.PathMax) || !strings.HasSuffix(path, got) {
			t.Errorf("of %d bytes %d were signed", length, len(got))
		}
	}
}

// The node that copies verifies the capability too, and is none of its sources.
func TestACopyOrderIsForItsDestinationToo(t *testing.T) {
	s := &signed{}
	e := New(Options{Signer: s})
	if _, err := e.copyOrder(move{entry: hemera.Entry{Name: "f"}, path: "/f", add: hemera.Target{Node: 7}}); err != nil {
		t.Fatal(err)
	}
	if len(s.also) != 1 || s.also[0] != 7 {
		t.Errorf("signed for %v besides its sources", s.also)
	}
}
