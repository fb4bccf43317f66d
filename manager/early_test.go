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
