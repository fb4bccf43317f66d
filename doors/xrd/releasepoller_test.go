package xrd

import (
	"sync/atomic"
	"testing"

	"hemera/rules/wire"
)

// TestHandlersThatWaitReleaseThePoller checks that handlers lend their goroutine to the loop before any wait for a disk,
// the first time too: hundreds of clients may then wait for one commit.
func TestHandlersThatWaitReleaseThePoller(t *testing.T) {
	needsLoop(t, "there are no pollers")
	for name, run := range map[string]func(p *pair, c *rawConn){
		"mkdir and rmdir": func(p *pair, c *rawConn) {
			c.must(t, wire.Mkdir{}, "/d")
			c.must(t, wire.Rmdir{}, "/d")
		},
		"mv": func(p *pair, c *rawConn) {
			p.put("/f", "a")
			c.must(t, wire.Mv{}, "/f /g")
		},
		"rm": func(p *pair, c *rawConn) {
			p.put("/f", "a")
			c.must(t, wire.Rm{}, "/f")
		},
		"chmod": func(p *pair, c *rawConn) {
			p.put("/f", "a")
			c.must(t, wire.Chmod{Mode: 0o600}, "/f")
		},
		"attributes": func(p *pair, c *rawConn) {
			p.put("/f", "a")
			a := wire.FattrArgs{Path: "/f", Names: []string{"k"}, Values: [][]byte{[]byte("v")}}
			c.must(t, wire.Fattr{Subcode: wire.FattrSet, Count: 1}, string(a.Append(nil)))
		},
		"sync and close": func(p *pair, c *rawConn) {
			fh := p.openWrite(t, c, "/f", 0)
			c.must(t, wire.Sync{Handle: fh}, "")
			c.must(t, wire.Close{Handle: fh}, "")
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPair(t, nil)
			var waits, kept atomic.Int64
			addr := p.managerAddr
			if name == "sync and close" {
				addr = p.nodeAddr
			}
			c := dial(t, addr)
			p.mu.Lock()
			p.fail = func(op string) error {
				if op != "change" && op != "sync" && op != "close" {
					return nil
				}
				waits.Add(1)
				for _, s := range []*Server{p.manager, p.node} {
					s.clients.mu.Lock()
					for c := range s.clients.conns {
						if !c.sock.Released() {
							kept.Add(1)
						}
					}
					s.clients.mu.Unlock()
				}
				return nil
			}
			p.mu.Unlock()
			for range 20 {
				c.must(t, wire.Ping{}, "") // it keeps its poller
				run(p, c)
			}
			if waits.Load() == 0 || kept.Load() > 0 {
				t.Errorf("%d waits, %d with a goroutine that was not lent", waits.Load(), kept.Load())
			}
		})
	}
}
