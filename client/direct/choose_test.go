package direct

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"hemera/rules/capability"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// coded returns a capability to read a file with one piece on each of the nodes 1, 2, and so on.
func coded(name string, size int64) hemera.Capability {
	l, err := hemera.ParseLayout(name, 0)
	if err != nil {
		panic(err)
	}
	c := hemera.Capability{Access: hemera.AccessRead, Layout: l, Size: size, Path: "/f"}
	for i := range l.Pieces {
		if !l.Coded() || layout.Stored(l, size, i) {
			c.Targets = append(c.Targets, hemera.Target{Index: i, Disk: hemera.DiskID(i + 1), Node: hemera.NodeID(i + 1), Addr: fmt.Sprintf("node%d:1", i)})
		}
	}
	return c
}

func TestSuited(t *testing.T) {
	large, small := int64(1<<30), int64(sizeMin-1)
	oneNode := coded("rs:4+2", large)
	for i := range oneNode.Targets[:4] {
		oneNode.Targets[i].Node = 1
	}
	for _, c := range []struct {
		name         string
		c            hemera.Capability
		away         []string // nodes that cannot be reached
		auto, always string   // a part of the reason; "" if it is suited
	}{
		{"large", coded("rs:4+2", large), nil, "", ""},
		{"without parity", coded("stripe:4", large), nil, "", ""},
		{"of the least size", coded("rs:4+2", sizeMin), nil, "", ""},
		{"small", coded("rs:4+2", small), nil, "less than 16 MiB", ""},
		{"one block", coded("rs:4+2", 1000), nil, "less than", ""},
		{"empty", coded("rs:4+2", 0), nil, "empty", "empty"},
		{"copies", coded("replica:2", large), nil, "layout", "layout"},
		{"data on one node", oneNode, nil, "one node", ""},
		{"two nodes away", coded("rs:4+2", large), []string{"node0:1", "node5:1"}, "", ""},
		{"three nodes away", coded("rs:4+2", large), []string{"node0:1", "node1:1", "node5:1"}, "reached", "reached"},
		{"one node away, no parity", coded("stripe:4", large), []string{"node3:1"}, "reached", "reached"},
	} {
		for mode, want := range map[Mode]string{Auto: c.auto, Always: c.always} {
			got := suited(mode, &c.c, func(addr string) bool { return !slices.Contains(c.away, addr) })
			if (got == "") != (want == "") || !strings.Contains(got, want) {
				t.Errorf("%s, mode %d: %q, want %q", c.name, mode, got, want)
			}
		}
	}
}

// TestTokensOfOthersAreNotBelieved checks that a client does not trust the token of a server: a URL may lead to any
// server.
func TestTokensOfOthersAreNotBelieved(t *testing.T) {
	key := hemera.Key{ID: 1, Secret: []byte("0123456789abcdef0123456789abcdef")}
	const size = 5 << 20
	for name, change := range map[string]func(*hemera.Capability){
		"":                         func(*hemera.Capability) {},
		"for writing":              func(c *hemera.Capability) { c.Access = hemera.AccessUpdate },
		"of another size":          func(c *hemera.Capability) { c.Size++ },
		"no blocks":                func(c *hemera.Capability) { c.Layout.BlockSize = 0 },
		"no data":                  func(c *hemera.Capability) { c.Layout.Data = 0 },
		"too many pieces":          func(c *hemera.Capability) { c.Layout.Pieces = 200 },
		"a piece out of range":     func(c *hemera.Capability) { c.Targets[3].Index = 6 },
		"a piece far out of range": func(c *hemera.Capability) { c.Targets[0].Index = 255 },
	} {
		c := coded("rs:4+2", size)
		change(&c)
		token, err := capability.NewKeyring(key).Mint(c)
		if err != nil {
			t.Fatal(err)
		}
		p, err := parse(token, size)
		if good := name == ""; (err == nil) != good || err != nil && !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		} else if good {
			if again, _ := p.Token(); again != token || len(p.Targets) != 6 {
				t.Errorf("permit %v", p)
			}
		}
	}
	for _, size := range []int64{-1, hemera.FileSizeMax + 1} {
		c := coded("rs:4+2", 5)
		c.Size = size
		token, _ := capability.NewKeyring(key).Mint(c)
		if _, err := parse(token, size); !errors.Is(err, errs.Invalid) {
			t.Errorf("size %d: %v", size, err)
		}
	}
	if _, err := parse("no token", size); !errors.Is(err, errs.Invalid) {
		t.Errorf("no token: %v", err)
	}
}
