package netjudge

import "hemera/words/hemera"

// PathLoss is one direction of a node's path to a peer.
type PathLoss struct {
	Peer      hemera.NodeID
	Direction Direction // Out or In, as the node sees it
	Loss      Loss
}

// Worst returns for each node the path with the largest certain loss: the one with the highest lower end of its interval.
// Nodes whose paths lost nothing are left out. It reads each path once.
func (s State) Worst() map[hemera.NodeID]PathLoss {
	worst, most := map[hemera.NodeID]PathLoss{}, map[hemera.NodeID]float64{}
	for i := range s.paths {
		p := &s.paths[i]
		if !(p.loss.Lost > 0) {
			continue
		}
		low, _ := interval(p.loss, zWell)
		if low > most[p.from] {
			worst[p.from], most[p.from] = PathLoss{p.to, Out, p.loss}, low
		}
		if low > most[p.to] && p.to != Clients {
			worst[p.to], most[p.to] = PathLoss{p.from, In, p.loss}, low
		}
	}
	return worst
}
