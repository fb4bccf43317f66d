package netjudge

import (
	"encoding/binary"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/words/hemera"
)

// The rules have the numbers that the package's documentation gives.
func TestHowMuchIsEnough(t *testing.T) {
	if n := SegmentsToClear(); n < 15_900 || n > 16_100 {
		t.Errorf("%d segments clear a node", n)
	}
	for _, c := range []struct {
		loss        float64
		least, most int64
	}{{0.1, 80, 120}, {0.02, 350, 450}, {0.005, 3900, 4100}, {0.002, 63_000, 65_000}, {0.001, 0, 0}, {0, 0, 0}, {2, 0, 0}, {math.NaN(), 0, 0}} {
		if n := SegmentsToSuspect(c.loss); n < c.least || n > c.most {
			t.Errorf("%d segments at a loss of %v", n, c.loss)
		}
	}
}

// Wilson's interval has the values of tables, contains the share, and shrinks with more observations.
func TestInterval(t *testing.T) {
	for _, c := range []struct{ n, r, low, high float64 }{
		{10, 0, 0, 0.2775}, {10, 5, 0.2366, 0.7634}, {10, 10, 0.7225, 1}, {100, 1, 0.0018, 0.0545}, {0, 0, 0, 1}, {-1, 0, 0, 1}, {10, -1, 0, 1},
	} {
		low, high := interval(Loss{c.n, c.r}, 1.96)
		if math.Abs(low-c.low) > 0.0005 || math.Abs(high-c.high) > 0.0005 {
			t.Errorf("%v of %v: %.4f to %.4f", c.r, c.n, low, high)
		}
	}
}

// One bad moment, even one with very many losses, is no fault.
func TestOneBadMoment(t *testing.T) {
	s := newCluster(20, 21)
	s.run(6)
	s.loss = func(a, b int) float64 {
		if a == 7 {
			return 0.3
		}
		return quietLoss
	}
	s.run(1)
	s.loss = func(int, int) float64 { return quietLoss }
	for range 40 {
		s.run(1)
		if got := s.suspected(); len(got) != 0 {
			t.Fatalf("%+v", got)
		}
	}
}

// If a node always loses some of its segments but does not report, its peers are not suspected.
func TestANodeWithoutReports(t *testing.T) {
	s := newCluster(20, 22)
	s.loss = func(a, b int) float64 {
		if b == 5 {
			return 0.02
		}
		return quietLoss
	}
	s.change = func(n *Node) {
		if n.ID == 6 {
			n.Taken, n.Paths = start, nil
		}
	}
	s.run(12)
	got := s.suspected()
	if len(got) != 1 || got[0].Node != 6 || got[0].Direction != In {
		t.Errorf("%+v", got)
	}
}

// The only node with clients that lose, and the only one of a cluster, are not suspected for them: there is nothing to compare with.
func TestClientsOfOneNode(t *testing.T) {
	for _, nodes := range []int{1, 2, 12} {
		s := newCluster(nodes, 28)
		s.segments = func(int, int) float64 { return 5000 }
		s.change = func(n *Node) {
			if n.ID == 1 {
				n.Paths = append(n.Paths, Path{Peer: Clients, Sent: 5000, Lost: poisson(s.random, 5000*0.02), RTT: 80 * time.Millisecond})
			}
		}
		for range 20 {
			s.run(1)
			if got := s.suspected(); len(got) != 0 {
				t.Fatalf("%d nodes: %+v", nodes, got)
			}
		}
	}
}

// The worst path of a node is the one with the largest certain loss, in the direction that loses. A node without losses
// has none.
func TestWorst(t *testing.T) {
	s := newCluster(6, 29)
	s.loss = func(a, b int) float64 {
		if a == 1 && b == 4 {
			return 0.05
		}
		return 0
	}
	s.segments = func(a, b int) float64 {
		if a == 3 && b == 4 {
			return 3 // one loss in a few segments means little
		}
		return 3000
	}
	s.run(5)
	for id, want := range map[hemera.NodeID]PathLoss{2: {Peer: 5, Direction: Out}, 5: {Peer: 2, Direction: In}} {
		got, ok := s.state.Worst()[id]
		if !ok || got.Peer != want.Peer || got.Direction != want.Direction || got.Loss.Share() < 0.03 {
			t.Errorf("node %d: %+v %t", id, got, ok)
		}
	}
	for _, id := range []hemera.NodeID{1, 3, 99} {
		if got, ok := s.state.Worst()[id]; ok {
			t.Errorf("node %d: %+v", id, got)
		}
	}
}

// Half of a node's paths lose because one link of its bond is bad: the node is at fault, and not its peers.
func TestALinkOfABond(t *testing.T) {
	s := newCluster(40, 23)
	s.loss = func(a, b int) float64 {
		if a == 9 && b%3 == 0 {
			return 0.03
		}
		return quietLoss
	}
	s.run(12)
	got := s.suspected()
	if len(got) != 1 || got[0].Node != 10 || got[0].Direction != Out || got[0].Evidence.Losing > 14 {
		t.Errorf("%+v", got)
	}
}

// A node far away has a long round trip and is well. A suspected one gets less weight for a round trip that is much too
// long.
func TestRoundTrips(t *testing.T) {
	weigh := map[time.Duration]float64{}
	for _, rtt := range []time.Duration{200 * time.Microsecond, 8 * time.Millisecond} {
		s := newCluster(12, 24)
		s.change = func(n *Node) {
			for i := range n.Paths {
				if n.ID == 2 {
					n.Paths[i].RTT = rtt
				}
			}
		}
		s.run(12)
		if got := s.suspected(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
		s.loss = func(a, b int) float64 {
			if a == 1 {
				return 0.005
			}
			return quietLoss
		}
		s.run(12)
		weigh[rtt] = s.verdicts[1].Weight
	}
	if near, far := weigh[200*time.Microsecond], weigh[8*time.Millisecond]; near != 0.5 && near != 0.45 || far > 0.1 || far < weightMin {
		t.Errorf("%v", weigh)
	}
}

// Step changes neither the state nor the matrix, and equal arguments give equal results.
func TestStepIsPure(t *testing.T) {
	build := func() (*cluster, Matrix) {
		s := newCluster(9, 25)
		s.loss = func(a, b int) float64 {
			if a == 2 {
				return 0.02
			}
			return quietLoss
		}
		s.run(8)
		s.now = s.now.Add(sampleEvery)
		return s, s.matrix()
	}
	a, m := build()
	b, same := build()
	if !reflect.DeepEqual(a.state, b.state) || !reflect.DeepEqual(m, same) {
		t.Fatal("the simulation is not repeatable")
	}
	first, verdicts := Step(a.state, m, a.now)
	if !reflect.DeepEqual(a.state, b.state) || !reflect.DeepEqual(m, same) {
		t.Error("Step changed its arguments")
	}
	slices.Reverse(m.Nodes)
	second, again := Step(a.state, m, a.now)
	if !reflect.DeepEqual(first, second) || !reflect.DeepEqual(verdicts, again) {
		t.Error("the same question has another answer")
	}
}

// A node that leaves the cluster is remembered for a while, and the state does not grow for ever.
func TestAbsentNodesAreForgotten(t *testing.T) {
	s := newCluster(9, 26)
	s.run(3)
	s.nodes = 4
	s.run(5)
	if len(s.verdicts) != 9 {
		t.Errorf("%d verdicts", len(s.verdicts))
	}
	s.now = s.now.Add(forgetAfter)
	s.run(1)
	if len(s.verdicts) != 4 || len(s.state.paths) != 12 || len(s.state.nodes) != 5 {
		t.Errorf("%d verdicts, %d paths", len(s.verdicts), len(s.state.paths))
	}
}

// reader takes numbers from the bytes of a fuzzer.
type reader struct{ data []byte }

func (r *reader) byte() (b byte) {
	if len(r.data) > 0 {
		b, r.data = r.data[0], r.data[1:]
	}
	return b
}

// number returns a small number, a large one of either sign, or an extreme one.
func (r *reader) number() int64 {
	switch b := r.byte(); {
	case b < 128:
		return int64(b) * int64(b)
	case b < 240:
		return int64(b) << (b % 50)
	case b < 250:
		var raw [8]byte
		n := copy(raw[:], r.data)
		r.data = r.data[n:]
		return int64(binary.LittleEndian.Uint64(raw[:]))
	case b < 253:
		return math.MaxInt64
	}
	return math.MinInt64
}

// FuzzStep: for any reports at any time, nothing panics, each node has one verdict, and weights stay in (0,1].
func FuzzStep(f *testing.F) {
	f.Add([]byte{3, 1, 2, 2, 100, 3, 100, 2, 2, 1, 100, 3, 90, 3, 0, 3, 3, 3})
	f.Add([]byte("0123456789abcdefghijklmnopqrstuvwxyz"))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, state, now := &reader{data}, State{}, start
		for range 40 {
			m := Matrix{}
			for range r.byte() % 8 {
				n := Node{ID: hemera.NodeID(r.byte() % 8), Taken: time.Unix(0, r.number())}
				for range r.byte() % 8 {
					n.Paths = append(n.Paths, Path{
						Peer: hemera.NodeID(r.byte() % 9), Sent: r.number(), Lost: r.number(), RTT: time.Duration(r.number()),
					})
				}
				m.Nodes = append(m.Nodes, n)
			}
			now = now.Add(time.Duration(r.number()))
			var verdicts []Verdict
			state, verdicts = Step(state, m, now)
			for i, v := range verdicts {
				if !(v.Weight > 0 && v.Weight <= 1) || i > 0 && verdicts[i-1].Node >= v.Node || (v.Standing == Suspected) != (v.Direction != 0) {
					t.Fatalf("%+v", v)
				}
				if list := Explain(v); len(list) == 0 || strings.Contains(strings.Join(list, ""), "NaN") {
					t.Fatalf("%q of %+v", list, v)
				}
				if bad := v.Standing == Suspected; (Where(v) != "") != bad || (Remedy(v) != "") != bad {
					t.Fatalf("%q, %q of %+v", Where(v), Remedy(v), v)
				}
				if w, ok := state.Worst()[v.Node]; ok && (w.Peer == v.Node || !(w.Loss.Share() > 0) || w.Direction != Out && w.Direction != In) {
					t.Fatalf("%+v of node %d", w, v.Node)
				}
			}
			if len(r.data) == 0 && len(data) > 0 {
				r.data = data // the same reports again, from another place
			}
		}
	})
}

// BenchmarkStep measures a step of a cluster in which all nodes talk, with and without a fault.
func BenchmarkStep(b *testing.B) {
	for _, c := range []struct {
		name  string
		nodes int
		loss  float64
	}{{"125", 125, quietLoss}, {"125-one-bad", 125, 0.02}, {"500", 500, quietLoss}} {
		b.Run(c.name, func(b *testing.B) {
			s := newCluster(c.nodes, 30)
			s.loss = func(x, y int) float64 {
				if x == 1 {
					return c.loss
				}
				return quietLoss
			}
			s.run(3)
			m := s.matrix()
			b.ReportAllocs()
			for b.Loop() {
				Step(s.state, m, s.now.Add(sampleEvery))
			}
		})
	}
}
