package storage

import (
	"testing"
	"time"

	"hemera/words/hemera"
)

// TestWhatIsAwaitedOfANode: a script that restarts nodes continues when the new process serves, not while the old one
// does or while the node stops.
func TestWhatIsAwaitedOfANode(t *testing.T) {
	began := time.Unix(1_700_000_000, 5_000)
	node := func(status hemera.NodeStatus, stopping bool, started time.Time) hemera.NodeInfo {
		return hemera.NodeInfo{Status: status, Stopping: stopping, Version: "1.0.0", Stats: hemera.NodeStats{Started: started}}
	}
	old := instance(node(hemera.NodeOnline, false, began))
	for _, c := range []struct {
		want awaited
		node hemera.NodeInfo
		says string
	}{
		{awaited{}, node(hemera.NodeOnline, false, began), ""},
		{awaited{}, node(hemera.NodeOnline, true, began), "it is stopping"},
		{awaited{}, node(hemera.NodeOffline, false, began), "it is offline"},
		{awaited{offline: true}, node(hemera.NodeOffline, false, began), ""},
		{awaited{offline: true}, node(hemera.NodeOnline, true, began), "it is stopping"},
		{awaited{after: old}, node(hemera.NodeOnline, false, began), "it is the same process as before"},
		{awaited{after: old}, node(hemera.NodeOnline, false, time.Time{}), "it is the same process as before"},
		{awaited{after: old}, node(hemera.NodeOnline, false, began.Add(time.Second)), ""},
		{awaited{version: "1.0.0"}, node(hemera.NodeOnline, false, began), ""},
		{awaited{version: "1.0.1"}, node(hemera.NodeOnline, false, began), "it runs version 1.0.0"},
	} {
		if got := c.want.missing(c.node); got != c.says {
			t.Errorf("%+v of a node that is %s: %q, want %q", c.want, nodeStatus(c.node), got, c.says)
		}
	}
}
