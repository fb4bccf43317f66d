package hemera

import (
	"fmt"
	"testing"
)

func TestLimitsAgree(t *testing.T) {
	for _, c := range []struct {
		name string
		ok   bool
	}{
		{"a page divides the largest file", FileSizeMax%PageSize == 0},
		{"replicas fit into pieces", ReplicasMax <= PiecesMax},
		{"a heartbeat may be lost", HeartbeatTimeout >= 3*HeartbeatInterval},
		{"an unsealed piece outlives every capability for it", UnsealedLifetime >= CapabilityLifetime+PendingHold},
		{"a name fits into a path", NameMax < PathMax},
	} {
		if !c.ok {
			t.Errorf("limits do not agree: %s", c.name)
		}
	}
}

func TestPieceIDRoundTrip(t *testing.T) {
	for _, p := range []PieceID{{1, 1, 0}, {0xffffffffff, 0xabc, 63}, {10000, 2, 15}, {0, 0, 0}, {1<<64 - 1, 1<<64 - 1, 255}, {0x12345678, 1, 16}} {
		if got, want := p.String(), fmt.Sprintf("%08x.%x.%x", uint64(p.File), uint64(p.Gen), p.Index); got != want {
			t.Errorf("%s, not %s", got, want)
		}
		got, err := ParsePieceID(p.String())
		if err != nil || got != p {
			t.Errorf("%v: got %v, %v", p, got, err)
		}
	}
	for _, s := range []string{"", "1.1", "00000001.1.0.0", "1.1.0", "0000000g.1.0", "00000001.01.0", "00000001.1.1ff"} {
		if _, err := ParsePieceID(s); err == nil {
			t.Errorf("%q: accepted", s)
		}
	}
}
