package netjudge

import (
	"math"
	"slices"
)

const (
	// shareMin is the least share of a node's paths that must lose before the node is blamed. It is below a half since
	// one link of a bond of four, or one of four equal paths through a network, may be bad.
	shareMin = 0.2
	// tellingLosses is the number of losses that a path, or several thin ones together, must be expected to have to count
	// as a path: with four, a path has no loss with a probability of one in fifty.
	tellingLosses = 4
)

// finding is the result of one step for one node.
type finding struct {
	direction Direction // 0: nothing
	paths     int
	losing    int
	loss      float64 // the share by which the weight is made
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

// run finds the nodes that lose on many paths, and notes what it finds.
func (t *search) run() {
	for _, s := range t.findRows() {
		f := &t.findings[s.node]
		share := s.loss.Share()
		f.direction |= s.direction
		f.paths, f.losing = f.paths+s.paths, f.losing+s.losing
		f.fresh, f.calm = f.fresh || s.fresh, s.calm
		if share >= f.loss {
			f.loss, f.usual, f.limit = share, s.usual, s.limit
		}
	}
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

// total adds up edges.
func total(list []*edge) (all, fresh Loss) {
	for _, e := range list {
		all, fresh = all.plus(e.loss), fresh.plus(e.fresh)
	}
	return all, fresh
}

// findRows takes the rows and columns that lose, the one that explains most first, and marks their edges as explained.
func (t *search) findRows() []suspect {
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
	// The cheap test first: in a cluster that is well nothing else runs.
	if !above(rest, lossMin) {
		return suspect{}, false
	}
	elsewhere := usual(rows, list)
	limit := max(lossMin, relativeLimit*elsewhere)
	if !above(rest, limit) {
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

// lossesOf returns the losses of a node in both directions that no other node explains.
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

// slower returns the factor by which a loss slows TCP down: its rate falls with the root of the loss.
func slower(loss float64) float64 {
	if !(loss > lossMin) {
		return 1
	}
	return math.Sqrt(lossMin / loss)
}
