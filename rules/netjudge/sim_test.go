package netjudge

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"hemera/test/fixture/effort"
	"hemera/words/hemera"
)

var start = time.Date(2026, time.March, 14, 15, 9, 26, 0, time.UTC)

const sampleEvery = 10 * time.Second

// cluster is a simulated cluster: for each pair the number of segments in a sample, and the share of them that is lost.
type cluster struct {
	nodes    int
	segments func(from, to int) float64 // the mean of a sample
	loss     func(from, to int) float64
	change   func(n *Node) // of a report, before it is sent; may be nil
	random   *rand.Rand
	now      time.Time
	state    State
	verdicts []Verdict
}

func newCluster(nodes int, seed uint64) *cluster {
	return &cluster{
		nodes: nodes, random: rand.New(rand.NewPCG(seed, 1)), now: start,
		segments: func(int, int) float64 { return 500 }, loss: func(int, int) float64 { return quietLoss },
	}
}

// quietLoss is the loss of a healthy cluster, besides its bursts.
const quietLoss = 0.00002

// poisson draws the number of rare independent events.
func poisson(r *rand.Rand, mean float64) int64 {
	if mean > 50 {
		return max(0, int64(mean+math.Sqrt(mean)*r.NormFloat64()+0.5))
	}
	n, p, end := int64(0), r.Float64(), math.Exp(-mean)
	for p > end {
		n++
		p *= r.Float64()
	}
	return n
}

// matrix returns the reports of one sample.
func (c *cluster) matrix() Matrix {
	nodes := make([]Node, c.nodes)
	sent, lost := make([]int64, c.nodes*c.nodes), make([]int64, c.nodes*c.nodes)
	for a := range c.nodes {
		for b := range c.nodes {
			if a == b {
				continue
			}
			n := poisson(c.random, c.segments(a, b))
			r := poisson(c.random, float64(n)*c.loss(a, b))
			// A queue is full for a moment: a burst of losses on one path in 2,000.
			if n > 100 && c.random.IntN(2000) == 0 {
				r += 1 + c.random.Int64N(12)
			}
			sent[a*c.nodes+b], lost[a*c.nodes+b] = n+r, min(r, n+r)
		}
	}
	for a := range nodes {
		nodes[a] = Node{ID: hemera.NodeID(a + 1), Taken: c.now}
		for b := range nodes {
			there, back := a*c.nodes+b, b*c.nodes+a
			if a == b || sent[there]+sent[back] == 0 {
				continue
			}
			nodes[a].Paths = append(nodes[a].Paths, Path{
				Peer: hemera.NodeID(b + 1), Sent: sent[there], Lost: lost[there], RTT: 200 * time.Microsecond,
			})
		}
		if c.change != nil {
			c.change(&nodes[a])
		}
	}
	return Matrix{nodes}
}

// run runs a number of steps.
func (c *cluster) run(steps int) {
	for range steps {
		c.now = c.now.Add(sampleEvery)
		c.state, c.verdicts = Step(c.state, c.matrix(), c.now)
	}
}

// suspected returns the verdicts of suspected nodes.
func (c *cluster) suspected() (list []Verdict) {
	for _, v := range c.verdicts {
		if v.Standing == Suspected {
			list = append(list, v)
		}
	}
	return list
}

// sparse gives each node that number of peers that it sends to, fixed for the run.
func sparse(nodes, peers int, segments float64) func(a, b int) float64 {
	return func(a, b int) float64 {
		if (b-a+nodes)%nodes <= peers {
			return segments
		}
		return 0
	}
}

// One node of 125 loses 0.5, 2 or 10 % in one direction. It is found within a minute and a half, alone, with the right
// direction, under heavy and thin traffic. It is well again some minutes after the loss ends.
func TestOneNodeOf125(t *testing.T) {
	const bad = 41
	for _, c := range []struct {
		name     string
		loss     float64
		out      bool
		segments func(a, b int) float64
		least    float64 // the range of its weight
		most     float64
	}{
		{"0.5 % out", 0.005, true, nil, 0.4, 0.5},
		{"2 % out", 0.02, true, nil, 0.2, 0.25},
		{"10 % out", 0.1, true, nil, 0.1, 0.15},
		{"0.5 % in", 0.005, false, nil, 0.4, 0.5},
		{"2 % in", 0.02, false, nil, 0.2, 0.25},
		{"10 % in", 0.1, false, nil, 0.1, 0.15},
		{"2 % out, thin", 0.02, true, func(int, int) float64 { return 8 }, 0.15, 0.3},
		{"2 % in, thin", 0.02, false, func(int, int) float64 { return 8 }, 0.15, 0.3},
		{"2 % out, few peers", 0.02, true, sparse(125, 6, 400), 0.2, 0.25},
		{"2 % in, few peers", 0.02, false, sparse(125, 6, 400), 0.2, 0.25},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newCluster(125, 7)
			if c.segments != nil {
				s.segments = c.segments
			}
			s.run(6)
			if got := s.suspected(); len(got) != 0 {
				t.Fatalf("before: %+v", got)
			}
			direction, quiet := In, s.loss
			if c.out {
				direction = Out
			}
			s.loss = func(a, b int) float64 {
				if c.out && a == bad || !c.out && b == bad {
					return c.loss
				}
				return quietLoss
			}
			found := 0
			for step := 1; step <= 20; step++ {
				s.run(1)
				got := s.suspected()
				if len(got) > 0 && found == 0 {
					found = step
				}
				for _, v := range got {
					if v.Node != bad+1 || v.Direction != direction {
						t.Fatalf("step %d: %+v", step, v)
					}
				}
			}
			if found == 0 || found > 9 {
				t.Fatalf("found at step %d", found)
			}
			v := s.verdicts[bad]
			if v.Weight < c.least || v.Weight > c.most {
				t.Errorf("weight %v at a loss of %v", v.Weight, c.loss)
			}
			t.Logf("found after %v, weight %v; %q", time.Duration(found)*sampleEvery, v.Weight, Explain(v))
			s.loss = quiet
			again := 0
			for step := 1; step <= 90 && again == 0; step++ {
				s.run(1)
				if len(s.suspected()) == 0 {
					again = step
				}
			}
			t.Logf("well after %v", time.Duration(again)*sampleEvery)
			if again < wellAfter || s.verdicts[bad].Weight != 1 {
				t.Errorf("not suspected at step %d: %+v", again, s.verdicts[bad])
			}
		})
	}
}

// The uplink of a switch loses what ten nodes send to, or receive from, all others. They are found, and no others.
func TestTheUplinkOfASwitch(t *testing.T) {
	behind := func(n int) bool { return n >= 20 && n < 30 }
	for _, out := range []bool{true, false} {
		s := newCluster(125, 8)
		s.loss = func(a, b int) float64 {
			if behind(a) != behind(b) && behind(a) == out {
				return 0.02
			}
			return quietLoss
		}
		s.run(20)
		direction := map[bool]Direction{true: Out, false: In}[out]
		for i, v := range s.verdicts {
			if (v.Standing == Suspected) != behind(i) {
				t.Errorf("%+v", v)
			}
			if behind(i) && (v.Direction != direction) {
				t.Errorf("%+v", v)
			}
		}
	}
}

// Several nodes that lose are all found.
func TestSeveralPorts(t *testing.T) {
	s := newCluster(125, 9)
	s.loss = func(a, b int) float64 {
		switch {
		case a == 3 || b == 50:
			return 0.02
		case a == 4:
			return 0.05
		}
		return quietLoss
	}
	s.run(20)
	want := map[hemera.NodeID]Direction{4: Out, 5: Out, 51: In}
	for _, v := range s.suspected() {
		if v.Direction != want[v.Node] {
			t.Errorf("%+v", v)
		}
		delete(want, v.Node)
	}
	if len(want) > 0 {
		t.Errorf("not found: %v", want)
	}
}

// A path alone that is bad makes no bad node.
func TestOneBadPath(t *testing.T) {
	for _, nodes := range []int{2, 3, 12, 125} {
		s := newCluster(nodes, 10)
		s.segments = func(int, int) float64 { return 2000 }
		s.loss = func(a, b int) float64 {
			if a == 1 && b == 0 {
				return 0.03
			}
			return quietLoss
		}
		for range 20 {
			s.run(1)
			if got := s.suspected(); len(got) != 0 {
				t.Fatalf("%d nodes: %+v", nodes, got)
			}
		}
		if worst := s.state.Worst()[2]; worst.Peer != 1 || worst.Direction != Out {
			t.Errorf("%d nodes: %+v", nodes, worst)
		}
	}
}

// A few packets prove nothing, even if all are lost.
func TestIdleNodes(t *testing.T) {
	s := newCluster(40, 11)
	s.segments = func(int, int) float64 { return 0.3 } // heartbeats
	s.loss = func(a, b int) float64 { return 0.02 }
	for range 60 {
		s.run(1)
		for _, v := range s.verdicts {
			if v.Standing != Unknown || v.Weight != 1 {
				t.Fatalf("%+v", v)
			}
		}
	}
}

// A cluster that loses everywhere is overloaded, and none of its nodes is suspected.
func TestAnOverloadedCluster(t *testing.T) {
	for _, segments := range []float64{20, 500} {
		s := newCluster(125, 12)
		s.segments = func(int, int) float64 { return segments }
		s.loss = func(a, b int) float64 { return 0.005 + 0.00002*float64(a) }
		s.run(15)
		if got := s.suspected(); len(got) != 0 {
			t.Errorf("%+v", got)
		}
	}
}

// A suspected node without reports gets its weight back after a time, so that it is tried again.
func TestASuspicionIsForgotten(t *testing.T) {
	s := newCluster(12, 13)
	s.loss = func(a, b int) float64 {
		if a == 3 {
			return 0.02
		}
		return quietLoss
	}
	s.run(20)
	if len(s.suspected()) != 1 {
		t.Fatalf("%+v", s.suspected())
	}
	s.segments = func(a, b int) float64 {
		if a == 3 || b == 3 {
			return 0
		}
		return 500
	}
	s.run(int(forgetAfter/sampleEvery) - 10)
	if len(s.suspected()) != 1 {
		t.Error("forgotten too soon")
	}
	s.run(40)
	if got := s.verdicts[3]; got.Standing != Unknown || got.Weight != 1 {
		t.Errorf("%+v", got)
	}
}

// Restarted nodes, reports that arrive twice or not at all, and clocks that jump cause no false verdict.
func TestRestarts(t *testing.T) {
	s := newCluster(30, 14)
	s.change = func(n *Node) {
		switch s.random.IntN(8) {
		case 0: // began again: no counts
			n.Paths = nil
		case 1: // an old report once more
			n.Taken = start
		case 2: // counters went back, and the sampler did not notice
			for i := range n.Paths {
				n.Paths[i].Sent, n.Paths[i].Lost = -n.Paths[i].Sent, -5
			}
		}
	}
	for range 60 {
		s.run(1)
		s.now = s.now.Add(time.Duration(s.random.IntN(40)-10) * time.Second)
		if got := s.suspected(); len(got) != 0 {
			t.Fatalf("%+v", got)
		}
	}
}

// TestQuietRuns: no false verdict in 1,000 runs of clusters of all sizes and kinds of traffic, with the bursts that queues have.
func TestQuietRuns(t *testing.T) {
	runs := effort.Of[uint64](1000, 50)
	if testing.Short() {
		runs = 50
	}
	sizes := []int{2, 3, 4, 6, 9, 14, 20, 30}
	for seed := range runs {
		r := rand.New(rand.NewPCG(seed, 2))
		nodes := sizes[r.IntN(len(sizes))]
		if seed%50 == 0 {
			nodes = 125
		}
		s := newCluster(nodes, seed)
		mean := math.Pow(10, 4*r.Float64()) // 1 to 10,000 segments a path and sample
		weights := make([]float64, nodes)
		for i := range weights {
			weights[i] = r.ExpFloat64()
		}
		s.segments = func(a, b int) float64 { return min(mean*weights[a]*weights[b], 20000) }
		base := quietLoss * 20 * r.Float64()
		s.loss = func(int, int) float64 { return base }
		for step := range 20 {
			s.run(1)
			if got := s.suspected(); len(got) != 0 {
				t.Fatalf("seed %d, step %d, %d nodes, %.0f segments, loss %.5f: %+v %q", seed, step, nodes, mean, base, got, Explain(got[0]))
			}
		}
	}
}
