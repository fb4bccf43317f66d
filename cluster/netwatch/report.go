package netwatch

import (
	"maps"

	"hemera/rules/netjudge"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// Report tells what is known of each node of the view, by id. Nodes that wait for admission are left out.
func (w *Watch) Report(v *hemera.View) adminapi.NetworkReport {
	w.mu.Lock()
	arrivals, state, verdicts, judged := maps.Clone(w.arrivals), w.state, w.verdicts, w.judged
	w.mu.Unlock()
	// States and samples are never changed in place, so they are read without the lock.
	h, worst := newHosts(v, arrivals), state.Worst()
	newest := map[hemera.NodeID]arrival{} // by host
	for id, a := range arrivals {
		if first, known := h.first[id]; known && a.at.After(newest[first].at) {
			newest[first] = a
		}
	}
	r := adminapi.NetworkReport{Judged: judged, Nodes: []adminapi.NodeNetwork{}}
	for _, n := range v.Nodes {
		first, known := h.first[n.ID]
		if !known {
			continue
		}
		row := adminapi.NodeNetwork{Node: n.ID, Addr: n.Addr, Standing: adminapi.NetworkUnknown, Weight: 1}
		// The newest sample of the host decides what there is to say; in one process only one of the nodes sends any.
		verdict, judged := verdicts[first]
		switch a := newest[first]; {
		case a.sample == nil:
			row.Text = []string{"No node of this host has sent a sample of its network since the manager started."}
		case !judged:
			row.Text = []string{"The network of the node was not judged yet."}
		}
		if judged && row.Text == nil {
			describe(&row, verdict)
		}
		if a := newest[first]; a.sample != nil {
			row.Sampled = a.at
			row.InRate, row.OutRate = rates(a.sample)
		}
		if p, ok := worst[first]; ok {
			row.Worst = &adminapi.NetworkWorst{Peer: p.Peer, Direction: p.Direction.String(), Loss: adminapi.NetworkLoss{Segments: p.Loss.Sent, Lost: p.Loss.Lost}}
			if p.Peer != netjudge.Clients {
				row.Worst.Addr = nameOf(v, p.Peer)
			}
		}
		r.Nodes = append(r.Nodes, row)
	}
	return r
}

// describe fills in what a verdict says.
func describe(row *adminapi.NodeNetwork, verdict netjudge.Verdict) {
	e := verdict.Evidence
	// Counts that faded are no whole numbers: programs get them as they are, texts round them.
	row.Standing, row.Weight = adminapi.NetworkStanding(verdict.Standing.String()), verdict.Weight
	row.Out, row.In = adminapi.NetworkLoss{Segments: e.Out.Sent, Lost: e.Out.Lost}, adminapi.NetworkLoss{Segments: e.In.Sent, Lost: e.In.Lost}
	row.RTT, row.UsualRTT = e.RTT, e.UsualRTT
	row.Where, row.Text, row.Remedy = netjudge.Where(verdict), netjudge.Explain(verdict), netjudge.Remedy(verdict)
	if verdict.Standing != netjudge.Suspected {
		return
	}
	row.Cause, row.Direction, row.Since = "port", verdict.Direction.String(), verdict.Since
}

// rates returns the bytes per second that a machine received and sent by its interfaces. The parts of a bond do not
// count: the bond counts their bytes.
func rates(s *hemera.NetworkSample) (in, out float64) {
	if s.Interval <= 0 {
		return 0, 0
	}
	for _, i := range s.Interfaces {
		if i.Member {
			continue
		}
		in += float64(i.In.Bytes) / s.Interval.Seconds()
		out += float64(i.Out.Bytes) / s.Interval.Seconds()
	}
	return in, out
}
