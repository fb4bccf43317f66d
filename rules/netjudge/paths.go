package netjudge

import (
	"cmp"
	"math"
	"slices"

	"hemera/words/hemera"
)

const (
	// shareMin is the least share of a node's paths that must lose before the node is blamed. It is below a half since
	// one link of a bond of four, or one of four equal paths through a network, may be bad.
	shareMin = 0.2
	// tellingLosses is the number of losses that a path, or several thin ones together, must be expected to have to count
	// as a path: with four, a path has no loss with a probability of one in fifty.
	tellingLosses = 4
	// sharedShare is the share of paths that must lose before a node can share its fault: if a node loses on some paths
	// only, good paths to other suspected nodes prove nothing.
	sharedShare = 0.6
	// sharedRatio: a path is well if it loses less than this part of what its sender loses elsewhere.
	sharedRatio = 0.25
	// clientsMin is the number of other nodes that must send to clients before a node is compared with them. Clients may
	// be far away, and lose packets on their own side. With fewer nodes, this cannot be excluded.
	clientsMin = 2
)

// finding is the result of one step for one node.
type finding struct {
	cause     Cause
	direction Direction
	peer      hemera.NodeID
	with      []hemera.NodeID
	link      string
	paths     int
	losing    int
	loss      float64 // the share from which the weight is computed
	sent      float64 // of OnePath: its segments
	part      float64 // the part of the node's traffic in the direction that is affected
	usual     float64
	limit     float64
	fresh     bool // the newest reports show it as well
	calm      bool // the newest reports are enough to show it, and do not
}

// search looks for faults in a table, and stores its findings there.
type search struct {
	*table
	list []*edge // reused by lines
}

// run looks for all faults: nodes that lose on many paths, then single paths, then links, which name the place of a loss.
func (t *search) run() {
	t.notePorts(t.findPorts())
	t.findPaths()
	t.findLinks()
}

// suspect is a row or a column of the matrix that loses.
type suspect struct {
	node      int
	direction Direction
	losing    int // paths
	paths     int
	loss      Loss
	usual     float64
	limit     float64
	fresh     bool
	calm      bool
}

// lines returns the edges of a node in one direction that no other fault explains. The list is valid until the next call.
func (t *search) lines(node int, d Direction) []*edge {
	from := t.out[node]
	if d == In {
		from = t.in[node]
	}
	list := t.list[:0]
	for _, i := range from {
		if e := &t.edges[i]; !e.explained && e.loss.Sent > 0 {
			list = append(list, e)
		}
	}
	t.list = list
	return list
}

// edge returns the edge from one node to another, or nil.
func (t *table) edge(a, b int) *edge {
	at, found := slices.BinarySearchFunc(t.out[a], b, func(i, b int) int { return cmp.Compare(t.edges[i].b, b) })
	if !found {
		return nil
	}
	return &t.edges[t.out[a][at]]
}

// total returns the sums of edges.
func total(list []*edge) (all, fresh Loss) {
	for _, e := range list {
		all, fresh = all.plus(e.loss), fresh.plus(e.fresh)
	}
	return all, fresh
}

// findPorts finds the rows and columns that lose, beginning with the one that explains most, and marks their edges as
// explained.
func (t *search) findPorts() []suspect {
	var found []suspect
	// Each round explains a row or a column, so there are at most two for each node.
	for range 2 * len(t.nodes) {
		best, rows := suspect{}, t.rows()
		for n := range t.nodes {
			for _, d := range []Direction{Out, In} {
				s, ok := t.judgeLines(n, d, rows)
				if ok && (s.losing > best.losing || s.losing == best.losing && s.loss.Lost > best.loss.Lost) {
					best = s
				}
			}
		}
		if best.losing == 0 {
			return found
		}
		for _, e := range t.lines(best.node, best.direction) {
			e.explained = true
		}
		found = append(found, best)
	}
	return found
}

// judgeLines reports whether a node loses on many of its paths in a direction.
func (t *search) judgeLines(node int, d Direction, rows []Loss) (suspect, bool) {
	list := t.lines(node, d)
	all, fresh := total(list)
	// Leave out the worst path: a single one does not make a bad node.
	rest := all.minus(worst(list).loss)
	// The cheap test comes first: in a healthy cluster nothing else runs.
	if !above(rest, lossMin, zSuspect) {
		return suspect{}, false
	}
	elsewhere := usual(rows, list)
	limit := max(lossMin, relativeLimit*elsewhere)
	if !above(rest, limit, zSuspect) {
		return suspect{}, false
	}
	s := suspect{node: node, direction: d, paths: len(list), loss: all, usual: elsewhere, limit: limit, fresh: fresh.Share() > limit,
		calm: calm(fresh, all)}
	for _, e := range list {
		if e.loss.Share() > limit {
			s.losing++
		}
	}
	return s, spread(list, all.Share(), limit) >= shareMin
}

// calm reports whether new counts are enough to show a loss like the old one. It does not say whether they show it.
func calm(fresh, all Loss) bool { return fresh.Sent*all.Share() >= tellingLosses }

// worst returns the path with the most losses, or one without traffic if no path lost.
func worst(list []*edge) *edge {
	at := &edge{}
	for _, e := range list {
		if e.loss.Lost > at.loss.Lost {
			at = e
		}
	}
	return at
}

// spread returns the share of paths that lose more than the limit. Thin paths are combined until they are significant.
// With fewer than two the share is 0.
func spread(list []*edge, share, limit float64) float64 {
	var sum Loss
	var telling, losing int
	for _, e := range list {
		sum = sum.plus(e.loss)
		if sum.Sent*share < tellingLosses {
			continue
		}
		telling++
		if sum.Share() > limit {
			losing++
		}
		sum = Loss{}
	}
	if telling < 2 {
		return 0
	}
	return float64(losing) / float64(telling)
}

// rows returns the losses of each node's segments, on paths that no fault explains.
func (t *search) rows() []Loss {
	rows := make([]Loss, len(t.nodes))
	for i := range t.edges {
		if e := &t.edges[i]; !e.explained {
			rows[e.a] = rows[e.a].plus(e.loss)
		}
	}
	return rows
}

// usual returns the median of the rows without some of their edges: the usual loss elsewhere.
func usual(rows []Loss, without []*edge) float64 {
	rows = slices.Clone(rows)
	for _, e := range without {
		rows[e.a] = rows[e.a].minus(e.loss)
	}
	var list []float64
	for _, r := range rows {
		// With fewer segments one loss is above the limit already.
		if r.Sent >= 1/lossMin {
			list = append(list, r.Share())
		}
	}
	return median(list)
}

// findPaths finds single edges that lose and that no node explains.
func (t *search) findPaths() {
	rows := t.rows()
	for i := range t.edges {
		e := &t.edges[i]
		if e.explained || !above(e.loss, lossMin, zPath) {
			continue
		}
		if t.nodes[e.b].id == Clients {
			t.findClients(e)
			continue
		}
		// Leave out both directions of the pair: with two nodes there is nothing else to compare with.
		pair := []*edge{e}
		if back := t.edge(e.b, e.a); back != nil && !back.explained {
			pair = append(pair, back)
		}
		elsewhere := usual(rows, pair)
		limit := max(lossMin, relativeLimit*elsewhere)
		if !above(e.loss, limit, zPath) {
			continue
		}
		f := finding{cause: OnePath, losing: 1, loss: e.loss.Share(), sent: e.loss.Sent, usual: elsewhere, limit: limit, fresh: e.fresh.Share() > limit, calm: calm(e.fresh, e.loss)}
		t.suspectPath(e.a, e.b, Out, f)
		t.suspectPath(e.b, e.a, In, f)
	}
}

// findClients judges the segments that a node sends to clients, compared with those that the other nodes send to theirs.
func (t *search) findClients(e *edge) {
	var others []float64
	for _, at := range t.in[e.b] {
		if o := &t.edges[at]; o != e && !o.explained && o.loss.Sent >= 1/lossMin {
			others = append(others, o.loss.Share())
		}
	}
	if len(others) < clientsMin {
		return
	}
	elsewhere := median(others)
	limit := max(lossMin, relativeLimit*elsewhere)
	if !above(e.loss, limit, zPath) {
		return
	}
	t.suspectPath(e.a, e.b, Out, finding{cause: OnePath, losing: 1, loss: e.loss.Share(), sent: e.loss.Sent, usual: elsewhere, limit: limit,
		fresh: e.fresh.Share() > limit, calm: calm(e.fresh, e.loss)})
}

// suspectPath records a bad path at one of its ends. If there are several, the one that loses most stays.
func (t *search) suspectPath(node, peer int, d Direction, f finding) {
	old := &t.findings[node]
	f.peer, f.direction = t.nodes[peer].id, d
	list := t.lines(node, d)
	all, _ := total(list)
	f.paths, f.part = len(list), f.sent/max(1, all.Sent)
	switch {
	case old.cause == OnePath && old.peer == f.peer: // the other direction of the same pair
		old.direction |= d
		old.loss, old.part, old.fresh = max(old.loss, f.loss), max(old.part, f.part), old.fresh || f.fresh
	case old.cause == NoCause || old.cause == OnePath && old.loss < f.loss:
		*old = f
	}
}

// notePorts records the rows and columns that lose as findings.
func (t *search) notePorts(found []suspect) {
	for _, s := range found {
		f := &t.findings[s.node]
		share := s.loss.Share()
		f.cause, f.direction, f.part = Port, f.direction|s.direction, 1
		f.paths, f.losing = f.paths+s.paths, f.losing+s.losing
		f.fresh, f.calm = f.fresh || s.fresh, s.calm
		if share >= f.loss {
			f.loss, f.usual, f.limit = share, s.usual, s.limit
		}
	}
	for _, d := range []Direction{Out, In} {
		t.share(slices.DeleteFunc(slices.Clone(found), func(s suspect) bool { return s.direction != d }))
	}
}

// share joins the suspects of one direction that reach each other well: their own ports are then good, and something that
// they have in common is bad. If two of them lost at their own ports, the path between them would lose as well.
func (t *search) share(found []suspect) {
	for i, x := range found {
		for _, y := range found[i+1:] {
			if t.wellBetween(x, y) && t.wellBetween(y, x) {
				t.join(x.node, y.node)
			}
		}
	}
}

// wellBetween reports whether a suspect's path to another one has enough traffic and does not lose as its others do.
func (t *search) wellBetween(x, y suspect) bool {
	if float64(x.losing) < sharedShare*float64(x.paths) {
		return false
	}
	e := t.edge(x.node, y.node)
	if e == nil {
		return false
	}
	l, share := e.loss, min(x.loss.Share(), y.loss.Share())
	return l.Sent*share >= tellingLosses && l.Share() < sharedRatio*share
}

// join records that two nodes share a fault.
func (t *search) join(a, b int) {
	for _, pair := range [][2]int{{a, b}, {b, a}} {
		f, other := &t.findings[pair[0]], t.nodes[pair[1]].id
		f.cause = Shared
		at, there := slices.BinarySearch(f.with, other)
		if !there {
			f.with = slices.Insert(f.with, at, other)
		}
	}
}

// lossesOf returns the losses of a node in both directions, without those that other nodes explain.
func (t *table) lossesOf(node int) (out, in Loss) {
	for _, i := range t.out[node] {
		if e := &t.edges[i]; !e.explained || t.findings[node].direction&Out != 0 {
			out = out.plus(e.loss)
		}
	}
	for _, i := range t.in[node] {
		if e := &t.edges[i]; !e.explained || t.findings[node].direction&In != 0 {
			in = in.plus(e.loss)
		}
	}
	return out, in
}

// disorder returns the share of a node's segments that their receivers saw out of order.
func (t *table) disorder(node int) float64 {
	var l Loss
	for _, i := range t.out[node] {
		l = l.plus(Loss{t.edges[i].received, t.edges[i].disorder})
	}
	return l.Share()
}

// slower returns the factor by which a loss reduces TCP's rate, which falls with the root of the loss.
func slower(loss float64) float64 {
	if !(loss > lossMin) {
		return 1
	}
	return math.Sqrt(lossMin / loss)
}
