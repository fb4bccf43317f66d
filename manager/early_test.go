package manager

import (
	"testing"
	"testing/synctest"
	"time"

	"hemera"
	"hemera/errs"
)

// TestClientsWaitForNodesAfterARestart opens files before the nodes have come back to a new manager.
func TestClientsWaitForNodesAfterARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		_, err := r.open("/big", hemera.AccessCreate, func(o *hemera.OpenRequest) { o.Size = 1 << 50 })
		wantKind(t, err, errs.NoSpace) // all nodes are there
		r.write("/f", 10)
		r.restart()
		_, err = r.open("/f", hemera.AccessRead)
		wantKind(t, err, errs.Unavailable)
		_, err = r.open("/g", hemera.AccessCreate)
		wantKind(t, err, errs.Unavailable)
		for _, n := range r.nodes {
			n.register()
		}
		r.mustOpen("/f", hemera.AccessRead)
		r.restart()
		time.Sleep(returnTime + time.Second)
		_, err = r.open("/f", hemera.AccessRead)
		wantKind(t, err, errs.NoReplicas)
	})
}

// TestClientsWaitForNodesThatFellSilent: as when a switch restarts, or a node does.
func TestClientsWaitForNodesThatFellSilent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t, 2, 1)
		r.write("/f", 10)
		silent := func(d time.Duration) {
			time.Sleep(d)
			r.m.cluster.Tick(t.Context())
		}
		silent(hemera.HeartbeatTimeout + time.Second)
		_, err := r.open("/f", hemera.AccessRead)
		wantKind(t, err, errs.Unavailable)
		_, err = r.open("/g", hemera.AccessCreate)
		wantKind(t, err, errs.Unavailable)
		_, err = r.open("/f", hemera.AccessRead, func(o *hemera.OpenRequest) { o.Tried = []hemera.NodeID{r.nodes[0].id, r.nodes[1].id} })
		wantKind(t, err, errs.NoReplicas) // the client was there: they will not help it
		r.nodes[1].register()
		r.mustOpen("/f", hemera.AccessRead)

		silent(returnTime + time.Second)
		_, err = r.open("/f", hemera.AccessRead)
		wantKind(t, err, errs.NoReplicas)
		_, err = r.open("/g", hemera.AccessCreate)
		wantKind(t, err, errs.NoSpace)
	})
}
