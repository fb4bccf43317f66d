package netjudge

const (
	// badMin is the share of packets that an interface may count as damaged or missed. Good cables and optics lose less
	// than one in a hundred million; one in ten thousand slows down TCP on fast links.
	badMin = 0.0001
	// badPacketsMin is the least number of bad packets for a finding.
	badPacketsMin = 8
	// flaps is the number of changes of the carrier within the memory that is too high: the signal was lost, came back
	// and was lost again. A switch that restarts makes fewer.
	flaps = 3
	// slowerThanBefore is a part of a link's best speed. Below it the link has agreed on a lower speed, or a bond has
	// lost a member.
	slowerThanBefore = 0.6
	// slowerThanOthers is a part of the usual speed. A link with at most that has fallen back one step of the standards
	// (a tenth, or a quarter). Clusters have machines of two generations, whose speeds differ by a factor of 0.4; see
	// rareSpeed.
	slowerThanOthers = 0.25
	// rareSpeed is the largest share of nodes with such a speed. If more have it, it is another kind of machine.
	rareSpeed = 0.25
	// speedsMin is the least number of nodes with known speeds for a comparison.
	speedsMin = 3
)

// judgedLinks returns the links of a node that are judged: physical ones and bonds. If a node has only virtual ones, as
// in a container, those are judged.
func (n *nodeState) judgedLinks() []*linkState {
	var real, all []*linkState
	for i := range n.links {
		l := &n.links[i]
		if !l.now.Up { // an admin switched it off
			continue
		}
		all = append(all, l)
		if !l.now.Virtual {
			real = append(real, l)
		}
	}
	if len(real) > 0 {
		return real
	}
	return all
}

// speed returns the largest speed of a node's links that have a signal. It leaves out the members of bonds, because the
// bond has their sum.
func (n *nodeState) speed() (most int64) {
	for _, l := range n.judgedLinks() {
		if l.now.Carrier && !l.now.Member {
			most = max(most, l.now.Speed)
		}
	}
	return most
}

// usualSpeed returns the median of the nodes' speeds, and a function that reports whether a speed is rare and at most a
// part of the median.
func (t *table) usualSpeed() (usual float64, rare func(int64) bool) {
	var list []float64
	for i := range t.nodes {
		if s := t.nodes[i].speed(); s > 0 {
			list = append(list, float64(s))
		}
	}
	usual = median(list)
	return usual, func(speed int64) bool {
		if speed <= 0 || len(list) < speedsMin || float64(speed) > slowerThanOthers*usual {
			return false
		}
		slow := 0
		for _, s := range list {
			if s <= slowerThanOthers*usual {
				slow++
			}
		}
		return float64(slow) <= rareSpeed*float64(len(list))
	}
}

// findLinks judges the interfaces of every node. Its findings have precedence over those of paths, because they name the
// place.
func (t *search) findLinks() {
	_, rare := t.usualSpeed()
	for i := range t.nodes {
		n := &t.nodes[i]
		best := finding{}
		for _, l := range n.judgedLinks() {
			f := l.judge(t.findings[i].cause == Port)
			if f.cause == NoCause && l.now.Carrier && !l.now.Member && l.now.Speed == n.speed() && rare(l.now.Speed) {
				f = finding{cause: LinkSlow, fresh: true}
			}
			if f.cause != NoCause && (best.cause == NoCause || f.cause < best.cause) {
				best = f
				best.link = l.name
			}
		}
		if best.cause == NoCause {
			continue
		}
		// The evidence keeps the numbers of the paths.
		f := &t.findings[i]
		best.loss, best.direction = max(best.loss, f.loss), best.direction|f.direction
		best.paths, best.losing, best.usual, best.limit, best.part = f.paths, f.losing, f.usual, f.limit, 1
		*f = best
	}
}

// judge finds what is wrong with one link. loses says that the node loses on many of its paths: then dropped packets
// count too.
func (l *linkState) judge(loses bool) finding {
	switch {
	case !l.now.Carrier && (l.hadCarrier || l.now.Member): // a port that never had a signal is not a fault
		return finding{cause: LinkDown, fresh: true}
	case !l.now.Carrier:
		return finding{}
	case l.changes >= flaps:
		return finding{cause: LinkDown, fresh: true} // several changes are enough evidence
	case l.now.HalfDuplex:
		return finding{cause: LinkSlow, fresh: true}
	case l.now.Speed > 0 && float64(l.now.Speed) < slowerThanBefore*float64(l.best):
		return finding{cause: LinkSlow, fresh: true}
	}
	f := finding{fresh: l.fresh.Share() > badMin, calm: l.fresh.Sent*max(l.rx.Share(), l.tx.Share()) >= tellingLosses}
	for _, side := range []struct {
		packets   Loss
		direction Direction
	}{{l.rx, In}, {l.tx, Out}} {
		low, _ := interval(side.packets, zSuspect)
		if side.packets.Lost >= badPacketsMin && low > badMin {
			f.cause, f.direction, f.loss = BadPackets, f.direction|side.direction, max(f.loss, side.packets.Share())
		}
	}
	if f.cause == NoCause && loses && l.dropped >= badPacketsMin && l.dropped > lossMin*(l.rx.Sent+l.tx.Sent) {
		f.cause, f.fresh = BadPackets, true // the paths show that it is new
	}
	return f
}

// clean reports whether a node's links have counted enough packets to show that they are not damaged.
func (n *nodeState) clean() bool {
	for _, l := range n.judgedLinks() {
		_, high := interval(l.rx.plus(l.tx), zWell)
		if high < badMin {
			return true
		}
	}
	return false
}
