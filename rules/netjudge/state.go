package netjudge

import (
	"cmp"
	"math"
	"slices"
	"sort"
	"time"

	"hemera/words/hemera"
)

const (
	// memory is the time in which counts fade to 1/e. Two or three samples of 10 s have the largest weight, so a loss
	// shows soon and is forgotten within minutes: a loss of 10 % fades below the limit in five.
	memory = time.Minute
	// suspectAfter and wellAfter are numbers of steps in a row. It takes more to trust a node again: a loose cable may be
	// well for minutes.
	suspectAfter = 3
	wellAfter    = 10
	// forgetAfter is the duration of a suspicion if there is too little traffic to judge, and the time for which an
	// absent node is remembered.
	forgetAfter = 30 * time.Minute
	// countMax bounds a count of one report: no link sends more in a sample. It keeps sums finite, whatever a node reports.
	countMax = 1e12
)

// State is the memory between steps. The zero value is the beginning. It is never changed after Step returned it.
type State struct {
	stepped time.Time
	nodes   []nodeState // by id
	paths   []pathState // by sender, then receiver
}

// pathState has the faded counts of one direction of a pair.
type pathState struct {
	from, to hemera.NodeID
	loss     Loss
}

// nodeState has the standing of a node and the counts that lead to the next one.
type nodeState struct {
	id       hemera.NodeID
	taken    time.Time // of the last report
	seen     time.Time // when it last came
	rtt      float64   // microseconds, the mean of the last report that had any
	standing Standing
	finding  finding // that makes or made the node suspected
	since    time.Time
	accused  time.Time // when a step last found a cause
	bad      int       // steps in a row that found a cause
	good     int       // steps since one did, of a suspected node
	// The packets that a suspected node sent and received in those steps. They do not fade, so a node with little traffic
	// takes longer to be cleared, but is cleared in the end.
	clearOut, clearIn Loss
}

// fade returns the factor for counts that are dt older.
func fade(dt time.Duration) float64 {
	if dt <= 0 {
		return 1
	}
	return math.Exp(-dt.Seconds() / memory.Seconds())
}

// count brings a reported number into the possible range.
func count(n int64) float64 { return float64(min(max(n, 0), countMax)) }

// lossOf brings two reported numbers into the possible range: not more lost than sent.
func lossOf(sent, lost int64) Loss {
	n := count(sent)
	return Loss{n, min(n, count(lost))}
}

// faded returns the loss after a time.
func (l Loss) faded(by float64) Loss { return Loss{l.Sent * by, l.Lost * by} }

// plus returns the sum of two losses.
func (l Loss) plus(m Loss) Loss { return Loss{l.Sent + m.Sent, l.Lost + m.Lost} }

// minus returns l without a loss that is a part of it.
func (l Loss) minus(m Loss) Loss { return Loss{max(0, l.Sent-m.Sent), max(0, l.Lost-m.Lost)} }

// edge is one direction of a pair in a step: its faded counts, and the new ones.
type edge struct {
	pathState
	fresh     Loss
	a, b      int // the nodes' places in the table
	explained bool
}

// table has the data of a step: the nodes of the matrix by id, and the edges between them that have traffic.
type table struct {
	now      time.Time
	nodes    []nodeState
	reports  []*Node // nil for a node without a new report
	edges    []edge
	out, in  [][]int   // by node: its edges
	findings []finding // by node
	rtt      float64   // the usual one, in microseconds
}

// newTable copies the old state, lets its counts fade, and adds the new ones.
func newTable(s State, m Matrix, now time.Time) *table {
	t := &table{now: now}
	by := fade(now.Sub(s.stepped))
	if s.stepped.IsZero() {
		by = 1
	}
	t.addNodes(s, m)
	t.reports = make([]*Node, len(t.nodes))
	for i := range m.Nodes {
		r := &m.Nodes[i]
		at := t.index(r.ID)
		if t.reports[at] == nil && r.ID != Clients && !t.nodes[at].taken.Equal(r.Taken) {
			t.reports[at] = r
		}
	}
	for i := range t.nodes {
		t.nodes[i].receive(t.reports[i])
	}
	t.addEdges(s, by)
	t.usualRTT()
	t.findings = make([]finding, len(t.nodes))
	return t
}

// addNodes makes the list of nodes: those of the matrix, and absent ones that are still remembered.
func (t *table) addNodes(s State, m Matrix) {
	t.nodes = make([]nodeState, 0, len(m.Nodes)+1)
	t.nodes = append(t.nodes, nodeState{id: Clients, seen: t.now})
	for i := range m.Nodes {
		t.nodes = append(t.nodes, nodeState{id: m.Nodes[i].ID, seen: t.now})
	}
	slices.SortFunc(t.nodes, func(a, b nodeState) int { return cmp.Compare(a.id, b.id) })
	t.nodes = slices.CompactFunc(t.nodes, func(a, b nodeState) bool { return a.id == b.id })
	var absent []nodeState
	for _, old := range s.nodes {
		at, found := slices.BinarySearchFunc(t.nodes, old.id, func(n nodeState, id hemera.NodeID) int { return cmp.Compare(n.id, id) })
		switch {
		case found:
			old.seen = t.now
			t.nodes[at] = old
		case t.now.Sub(old.seen) < forgetAfter:
			absent = append(absent, old)
		}
	}
	if len(absent) > 0 {
		t.nodes = append(t.nodes, absent...)
		slices.SortFunc(t.nodes, func(a, b nodeState) int { return cmp.Compare(a.id, b.id) })
	}
}

// index returns a node's place in the table, or -1.
func (t *table) index(id hemera.NodeID) int {
	// Not slices.BinarySearchFunc, which copies each node that it compares: that took a third of the time of a step.
	at := sort.Search(len(t.nodes), func(i int) bool { return t.nodes[i].id >= id })
	if at == len(t.nodes) || t.nodes[at].id != id {
		return -1
	}
	return at
}

// addEdges joins the remembered paths with the reported ones. A path is counted by its sender. Each sender's edges are
// collected in turn, so that only one row at a time has to be put in order.
func (t *table) addEdges(s State, by float64) {
	size := len(t.nodes)
	t.edges = make([]edge, 0, len(s.paths)+len(s.paths)/8)
	at := make([]int, size) // by receiver: the place of its edge in this row plus one; 0 until there is one
	old := s.paths
	for a := range t.nodes {
		n := &t.nodes[a]
		begin := len(t.edges)
		to := func(b int) *edge {
			if at[b] == 0 {
				t.edges = append(t.edges, edge{pathState: pathState{from: n.id, to: t.nodes[b].id}, a: a, b: b})
				at[b] = len(t.edges)
			}
			return &t.edges[at[b]-1]
		}
		for len(old) > 0 && old[0].from < n.id { // paths of a forgotten node
			old = old[1:]
		}
		for ; len(old) > 0 && old[0].from == n.id; old = old[1:] {
			if b := t.index(old[0].to); b >= 0 {
				to(b).loss = old[0].loss.faded(by)
			}
		}
		if r := t.reports[a]; r != nil {
			for _, p := range r.Paths {
				if b := t.index(p.Peer); b >= 0 && b != a {
					e, l := to(b), lossOf(p.Sent, p.Lost)
					e.loss, e.fresh = e.loss.plus(l), e.fresh.plus(l)
				}
			}
		}
		row := t.edges[begin:]
		for i := range row {
			at[row[i].b] = 0
		}
		// Less than one segment is left of an old path: it is forgotten, so that the state does not grow.
		row = slices.DeleteFunc(row, func(e edge) bool { return e.loss.Sent < 1 })
		t.edges = t.edges[:begin+len(row)]
		if inOrder := func(x, y edge) int { return cmp.Compare(x.b, y.b) }; !slices.IsSortedFunc(row, inOrder) {
			slices.SortFunc(row, inOrder)
		}
	}
	t.link()
}

// link lists the edges of each node.
func (t *table) link() {
	size := len(t.nodes)
	out, in := make([]int, size), make([]int, size)
	for i := range t.edges {
		out[t.edges[i].a]++
		in[t.edges[i].b]++
	}
	t.out, t.in = make([][]int, size), make([][]int, size)
	for n := range size {
		t.out[n], t.in[n] = make([]int, 0, out[n]), make([]int, 0, in[n])
	}
	for i := range t.edges {
		e := &t.edges[i]
		t.out[e.a] = append(t.out[e.a], i)
		t.in[e.b] = append(t.in[e.b], i)
	}
}

// receive takes a report into the state of its node; nil: there is none.
func (n *nodeState) receive(r *Node) {
	if r == nil {
		return
	}
	n.taken = r.Taken
	var weighed, segments float64
	for _, p := range r.Paths {
		if p.RTT > 0 && p.Sent > 0 && p.Peer != Clients {
			segments += count(p.Sent)
			weighed += count(p.Sent) * float64(min(p.RTT, time.Minute).Microseconds())
		}
	}
	if segments > 0 {
		n.rtt = weighed / segments
	}
}

// usualRTT finds the median of the nodes' round trips.
func (t *table) usualRTT() {
	var list []float64
	for _, n := range t.nodes {
		if n.rtt > 0 {
			list = append(list, n.rtt)
		}
	}
	t.rtt = median(list)
}

// state returns the state for the next step.
func (t *table) state() State {
	paths := make([]pathState, len(t.edges))
	for i := range t.edges {
		paths[i] = t.edges[i].pathState
	}
	return State{stepped: t.now, nodes: t.nodes, paths: paths}
}
