package manager

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hemera/rules/condition"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// talk has all nodes send to all others, and report it with their heartbeats. lost is how many of three thousand segments are lost
// in a sample.
func (r *rig) talk(lost func(from, to hemera.NodeID) int64) {
	address := func(id hemera.NodeID) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, 0, byte(id)}) }
	for _, n := range r.nodes {
		due := time.Now()
		n.mu.Lock()
		n.network = func() *hemera.NetworkSample {
			if time.Now().Before(due) {
				return nil
			}
			due = time.Now().Add(hemera.NetworkInterval)
			s := &hemera.NetworkSample{Taken: time.Now(), Interval: hemera.NetworkInterval, Addresses: []netip.Addr{address(n.id)}}
			for _, to := range r.nodes {
				if to != n {
					s.Paths = append(s.Paths, hemera.NetworkPath{Peer: address(to.id), Sent: 3000, Lost: lost(n.id, to.id), Received: 3000, RTT: time.Millisecond})
				}
			}
			return s
		}
		n.mu.Unlock()
	}
}

// until lets fake time pass until the condition is true, for at most limit.
func (r *rig) until(what string, limit time.Duration, done func() bool) {
	r.t.Helper()
	for end := time.Now().Add(limit); !done(); time.Sleep(time.Second) {
		if time.Now().After(end) {
			r.t.Fatalf("not %s after %s", what, limit)
		}
	}
}

// share returns the part of new files whose first piece is on a node.
func (r *rig) share(node hemera.NodeID, name string) float64 {
	r.t.Helper()
	const files = 300
	on := 0
	for i := range files {
		g := r.mustOpen(fmt.Sprintf("/%s%d", name, i), hemera.AccessCreate)
		if g.Permit.Targets[0].Node == node {
			on++
		}
		if err := r.m.Control.Abort(r.t.Context(), shown(g)); err != nil {
			r.t.Fatal(err)
		}
	}
	return float64(on) / files
}

// A node that loses packets is named by status, explained, and gets fewer files, until it is well again.
func TestANodeThatLosesGetsLess(t *testing.T) {
	const loser = 2
	running(t, 4, 1, func(t *testing.T, r *rig) {
		var loses atomic.Int64
		r.talk(func(from, _ hemera.NodeID) int64 {
			if from == loser {
				return loses.Load()
			}
			return 0
		})
		named := func() bool { codes, _ := r.codes(); return slices.Contains(codes, condition.NodeNetwork) }
		weight := func() float64 { n, _ := r.m.Cluster.View().Node(loser); return n.NetworkWeight }
		// Its first heartbeat may have come already, and with it a sample.
		if text := r.reasons(adminapi.WhyNetwork, "2"); !strings.Contains(text, "unknown") || !strings.Contains(text, "has sent a sample") && !strings.Contains(text, "was not judged yet") {
			t.Error(text)
		}
		r.until("well before", 3*time.Minute, func() bool {
			return strings.Contains(r.reasons(adminapi.WhyNetwork, "2"), "The network of the node is well")
		})
		if text := r.reasons(adminapi.WhyNetwork, "2"); named() || weight() != 0 || !strings.Contains(text, "well\njudgement: The network of the node is well") {
			t.Errorf("before: weight %v\n%s", weight(), text)
		}
		if got := r.share(loser, "before"); got < 0.15 || got > 0.35 {
			t.Errorf("before: %v of the new files", got)
		}
		loses.Store(90)
		r.until("suspected", 3*time.Minute, func() bool {
			return named() && strings.Contains(r.reasons(adminapi.WhyNetwork, "2"), "3 of 3 paths lose")
		})
		text := r.reasons(adminapi.WhyNetwork, "2")
		for _, want := range []string{"suspected, for the host, its port or its cable", "3 of 3 paths lose", "-> look at the counters of the switch", "worst path: to node"} {
			if !strings.Contains(text, want) {
				t.Errorf("no %q in\n%s", want, text)
			}
		}
		if !named() || weight() <= 0 || weight() > 0.5 || !strings.Contains(r.reasons(adminapi.WhyNode, "2"), condition.NodeNetwork) {
			t.Errorf("weight %v\n%s", weight(), text)
		}
		if got := r.share(loser, "during"); got > 0.15 {
			t.Errorf("during: %v of the new files", got)
		}
		report, err := r.m.Status.Network(t.Context())
		if err != nil || len(report.Nodes) != 4 || report.Nodes[1].Standing != adminapi.NetworkSuspected || report.Nodes[1].Weight != weight() || report.Nodes[0].Standing == adminapi.NetworkSuspected {
			t.Errorf("%v %+v", err, report)
		}
		loses.Store(0)
		time.Sleep(10 * time.Minute)
		if named() || weight() != 0 {
			t.Errorf("afterwards: weight %v\n%s", weight(), r.reasons(adminapi.WhyNetwork, "2"))
		}
		if got := r.share(loser, "after"); got < 0.15 {
			t.Errorf("afterwards: %v of the new files", got)
		}
		if _, err := r.m.Status.Why(t.Context(), hemera.SystemIdentity(), adminapi.WhyNetwork, "9"); !errors.Is(err, errs.NotFound) {
			t.Error(err)
		}
		if _, err := r.m.Status.Why(t.Context(), hemera.SystemIdentity(), adminapi.WhyNetwork, "x"); !errors.Is(err, errs.Invalid) {
			t.Error(err)
		}
		r.node(3).stop()
		r.until("offline", 3*time.Minute, func() bool { return strings.Contains(r.reasons(adminapi.WhyNetwork, "3"), "is offline") })
		if text := r.reasons(adminapi.WhyNetwork, "3"); !strings.Contains(text, "is offline, so nothing new is known") {
			t.Error(text)
		}
	})
}
