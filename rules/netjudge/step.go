package netjudge

import (
	"math"
	"slices"
	"time"
)

const (
	// weightMin is the least weight: a node needs some traffic to show that it is well, and one that is slow for every
	// client may still have the only copy.
	weightMin = 0.05
	// weightSuspected is the most that a suspected node gets.
	weightSuspected = 0.7
	// weightSteps: weights are multiples of 1/20, so that views of the cluster do not change with every sample.
	weightSteps = 20
	// rttLong: the round trip of a suspected node counts if it is this many times the usual one. Smaller differences are
	// those of racks and rooms. A round trip below rttMin is mostly the time that processes need to wake up.
	rttLong = 4
	rttMin  = time.Millisecond
)

// Step judges every node of the matrix, and those that left it a short time ago. It returns the state for the next step,
// and the verdicts by id. It does not change its arguments. now is the caller's time and may jump: it never decides alone
// what a node counted.
func Step(s State, m Matrix, now time.Time) (State, []Verdict) {
	t := newTable(s, m, now)
	(&search{table: t}).run()
	verdicts := make([]Verdict, 0, len(t.nodes))
	for i := range t.nodes {
		if t.nodes[i].id != Clients {
			t.decide(i)
			verdicts = append(verdicts, t.verdict(i))
		}
	}
	return t.state(), verdicts
}

// decide changes a node's standing by one step.
func (t *table) decide(i int) {
	n, f := &t.nodes[i], t.findings[i]
	if t.reports[i] != nil || t.heardOf(i) {
		t.tally(i)
	}
	switch {
	case f.direction != 0 && (n.standing == Suspected || n.bad >= suspectAfter):
		if n.standing != Suspected {
			n.since = t.now
		}
		n.standing, n.finding = Suspected, f
	case n.standing == Suspected && n.good >= wellAfter && t.isWell(i):
		n.standing, n.finding, n.since = Well, finding{}, time.Time{}
	case n.standing == Suspected && t.now.Sub(n.accused) >= forgetAfter:
		n.standing, n.finding, n.since = Unknown, finding{}, time.Time{}
	case n.standing == Suspected:
	case t.hasEnough(i):
		n.standing = Well
	default:
		n.standing = Unknown
	}
}

// tally counts the steps that lead a node to another standing.
func (t *table) tally(i int) {
	n, f := &t.nodes[i], t.findings[i]
	if f.direction == 0 {
		n.bad, n.good = 0, n.good+1
		out, in := t.freshOf(i)
		n.clearOut, n.clearIn = n.clearOut.plus(out), n.clearIn.plus(in)
		return
	}
	n.good, n.clearOut, n.clearIn = 0, Loss{}, Loss{}
	switch {
	case f.fresh:
		n.bad++
		n.accused = t.now
	case f.calm:
		n.bad = 0 // one bad moment, which has not faded yet
	}
}

// heardOf reports whether other nodes reported segments to this node in this step. This replaces the report of a node
// that does not send one.
func (t *table) heardOf(i int) bool {
	return slices.ContainsFunc(t.in[i], func(at int) bool { return t.edges[at].fresh.Sent > 0 })
}

// isWell reports whether a suspected node has shown that the fault is gone.
func (t *table) isWell(i int) bool {
	n := &t.nodes[i]
	was := n.finding
	limit := max(lossMin, was.limit)
	return (was.direction&Out == 0 || below(n.clearOut, limit)) && (was.direction&In == 0 || below(n.clearIn, limit))
}

// freshOf returns the new losses of a node that no other node explains.
func (t *table) freshOf(i int) (out, in Loss) {
	add := func(list []int, to *Loss) {
		for _, at := range list {
			if e := &t.edges[at]; !e.explained {
				*to = to.plus(e.fresh)
			}
		}
	}
	add(t.out[i], &out)
	add(t.in[i], &in)
	return out, in
}

// hasEnough reports whether a node had enough traffic for a loss to show.
func (t *table) hasEnough(i int) bool {
	out, in := t.lossesOf(i)
	return max(out.Sent, in.Sent) >= enough
}

// enough is the result of SegmentsToClear.
var enough = float64(SegmentsToClear())

// verdict returns the verdict of a step for a node.
func (t *table) verdict(i int) Verdict {
	n := &t.nodes[i]
	f := n.finding
	if n.standing != Suspected {
		f = t.findings[i]
	}
	v := Verdict{Node: n.id, Standing: n.standing, Weight: 1}
	v.Evidence = t.evidence(i, f)
	if n.standing != Suspected {
		return v
	}
	v.Direction, v.Since, v.Weight = f.direction, n.since, weigh(f, v.Evidence)
	return v
}

// evidence collects the numbers of a verdict.
func (t *table) evidence(i int, f finding) Evidence {
	n := &t.nodes[i]
	e := Evidence{Paths: f.paths, Losing: f.losing, Usual: f.usual, Limit: max(f.limit, lossMin)}
	e.Out, e.In = t.lossesOf(i)
	e.RTT, e.UsualRTT = time.Duration(n.rtt)*time.Microsecond, time.Duration(t.rtt)*time.Microsecond
	return e
}

// weigh returns the weight of a suspected node.
func weigh(f finding, e Evidence) float64 {
	w := slower(f.loss)
	if long := max(rttLong*e.UsualRTT, rttMin); e.UsualRTT > 0 && e.RTT > long {
		w *= float64(long) / float64(e.RTT)
	}
	w = min(w, weightSuspected)
	w = math.Ceil(w*weightSteps-1e-9) / weightSteps
	if !(w >= weightMin) { // also for NaN
		return weightMin
	}
	return min(w, 1)
}
