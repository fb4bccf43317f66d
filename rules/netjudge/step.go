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
	// weightSuspected is the largest weight of a suspected node if the fault is its own.
	weightSuspected = 0.7
	// weightDown is the weight of a node with a link that is down: another link carries all of its traffic.
	weightDown = 0.5
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
	case f.cause != NoCause && (n.standing == Suspected || n.bad >= suspectAfter):
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
	if f.cause == NoCause {
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
	switch {
	case was.cause == LinkDown || was.cause == LinkSlow:
		return true // a state that has ended
	case was.cause == BadPackets && was.losing == 0:
		return n.clean()
	}
	limit := max(lossMin, was.limit)
	return (was.direction&Out == 0 || below(n.clearOut, limit)) && (was.direction&In == 0 || below(n.clearIn, limit))
}

// freshOf returns the new losses that count for or against a suspected node: those of its bad path, or of all that no
// other node explains.
func (t *table) freshOf(i int) (out, in Loss) {
	was := t.nodes[i].finding
	add := func(list []int, to *Loss) {
		for _, at := range list {
			e := &t.edges[at]
			peer := e.from
			if e.a == i {
				peer = e.to
			}
			if !e.explained && (was.cause != OnePath || peer == was.peer) {
				*to = to.plus(e.fresh)
			}
		}
	}
	add(t.out[i], &out)
	add(t.in[i], &in)
	return out, in
}

// lossBetween returns the loss from one node to another.
func (t *table) lossBetween(a, b int) Loss {
	if e := t.edge(a, b); e != nil {
		return e.loss
	}
	return Loss{}
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
	v.Cause, v.Direction, v.Since = f.cause, f.direction, n.since
	if f.cause == OnePath {
		v.Peer = f.peer
	}
	if f.cause == Shared {
		v.With = slices.Clone(f.with) // the state keeps its own list
	}
	v.Weight = weigh(f, v.Evidence)
	return v
}

// evidence collects the numbers of a verdict.
func (t *table) evidence(i int, f finding) Evidence {
	n := &t.nodes[i]
	e := Evidence{Paths: f.paths, Losing: f.losing, Usual: f.usual, Limit: max(f.limit, lossMin), OutOfOrder: t.disorder(i)}
	e.Out, e.In = t.lossesOf(i)
	if f.cause == OnePath {
		if peer := t.index(f.peer); peer >= 0 {
			e.Out, e.In = t.lossBetween(i, peer), t.lossBetween(peer, i)
		}
	}
	e.RTT, e.UsualRTT = time.Duration(n.rtt)*time.Microsecond, time.Duration(t.rtt)*time.Microsecond
	at := slices.IndexFunc(n.links, func(l linkState) bool { return l.name == f.link })
	if f.link == "" || at < 0 {
		return e
	}
	l := &n.links[at]
	usual, _ := t.usualSpeed()
	e.Link, e.Speed, e.UsualSpeed = l.name, max(0, l.now.Speed), max(l.best, int64(usual))
	e.HalfDuplex, e.CarrierChanges = l.now.HalfDuplex, l.changes
	worse := l.rx
	if l.tx.Share() > l.rx.Share() {
		worse = l.tx
	}
	e.Packets, e.Bad = worse.Sent, worse.Lost
	if e.Bad == 0 {
		e.Packets, e.Bad = l.rx.Sent+l.tx.Sent, l.dropped
	}
	return e
}

// weigh returns the weight of a suspected node.
func weigh(f finding, e Evidence) float64 {
	w := slower(f.loss)
	if long := max(rttLong*e.UsualRTT, rttMin); e.UsualRTT > 0 && e.RTT > long {
		w *= float64(long) / float64(e.RTT)
	}
	switch {
	case f.cause == OnePath:
		// The other paths are well. A node with a hundred of them keeps nearly all of its weight. A node that sends to
		// its clients only loses as much as they notice.
		w = 1 - f.part*(1-w)
	case f.cause == LinkDown:
		w = min(w, weightDown)
	case f.cause == LinkSlow && e.Speed > 0 && e.UsualSpeed > e.Speed:
		w = min(w, float64(e.Speed)/float64(e.UsualSpeed))
	}
	if f.cause != OnePath {
		w = min(w, weightSuspected)
	}
	w = math.Ceil(w*weightSteps-1e-9) / weightSteps
	if !(w >= weightMin) { // also for NaN
		return weightMin
	}
	return min(w, 1)
}
