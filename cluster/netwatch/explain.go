package netwatch

import (
	"fmt"
	"time"

	"hemera/words/adminapi"
)

// Explain says what is known of a node's network: its state in a line, and what that rests on, with what to look at first.
func Explain(row adminapi.NodeNetwork, now time.Time) (state string, reasons []adminapi.Reason) {
	state = string(row.Standing)
	if row.Cause != "" {
		state += ", " + blamed(row.Cause)
	}
	// The judge's sentences are in the order of a conversation: what, how many, how much, what follows.
	for i, text := range row.Text {
		r := adminapi.Reason{About: "judgement", Text: text}
		if i == 0 {
			r.Remedy = row.Remedy // where to look belongs to what is wrong
		}
		reasons = append(reasons, r)
	}
	// The worst path is told of every node: before a node is suspected, it is the first sign.
	if w := row.Worst; w != nil {
		// Clients have no address of their own here: they are one peer.
		peer := w.Addr
		if peer == "" {
			peer = "its clients"
		}
		way := map[string]string{"out": "to", "in": "from"}[w.Direction]
		reasons = append(reasons, adminapi.Reason{About: "worst path",
			Text: fmt.Sprintf("%s %s: %.0f of %.0f segments were lost (%.2g %%)", way, peer, w.Loss.Lost, w.Loss.Segments, 100*w.Loss.Share())})
	}
	// An old sample says why nothing changes: the node sends none any more.
	if !row.Sampled.IsZero() {
		reasons = append(reasons, adminapi.Reason{About: "sample",
			Text: fmt.Sprintf("the last one came %s ago: %.1f MB/s in, %.1f MB/s out", now.Sub(row.Sampled).Round(time.Second), row.InRate/1e6, row.OutRate/1e6)})
	}
	return state, reasons
}

// blamed says in a few words what is blamed. The words of causes are for programs; these are for the first line.
func blamed(cause string) string {
	switch cause {
	case "path":
		return "for one path"
	case "port":
		return "for the host, its port or its cable"
	case "shared":
		return "for something that it shares with other nodes"
	}
	return "for an interface: " + cause
}
