package capability

import (
	"fmt"
	"testing"

	"hemera/words/hemera"
)

// wide returns a write of that many replicas, each at its own node.
func wide(replicas int) hemera.Capability {
	c := sample()
	c.Base, c.Sums, c.Targets = nil, nil, nil
	for i := range replicas {
		c.Targets = append(c.Targets, hemera.Target{Index: uint8(i), Disk: hemera.DiskID(10 + i), Node: hemera.NodeID(1 + i), Addr: fmt.Sprintf("node%d.example.org:1095", i)})
	}
	return c
}

func BenchmarkMint(b *testing.B) {
	for _, n := range []int{1, 2, 16} {
		b.Run(fmt.Sprintf("replicas=%d", n), func(b *testing.B) {
			ring, c := NewKeyring(keyA), wide(n)
			b.ReportAllocs()
			size := 0
			for b.Loop() {
				token, err := ring.Mint(c)
				if err != nil {
					b.Fatal(err)
				}
				size = len(token)
			}
			b.ReportMetric(float64(size), "characters")
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	for _, n := range []int{1, 2, 16} {
		b.Run(fmt.Sprintf("replicas=%d", n), func(b *testing.B) {
			ring := NewKeyring(keyA)
			token, err := ring.Mint(wide(n))
			if err != nil {
				b.Fatal(err)
			}
			node := at(1, keyA)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := node.Verify(token, when); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
