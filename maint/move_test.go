package maint

import (
	"strings"
	"testing"

	"hemera"
)

// signed is the last capability that was asked for.
type signed struct{ hemera.Capability }

func (s *signed) Mint(c hemera.Capability) (string, error) {
	s.Capability = c
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
