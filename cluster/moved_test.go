package cluster

import (
	"errors"
	"slices"
	"testing"
	"time"

	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// moving is two nodes of a cluster whose clock the test moves; the first has a disk with id 1.
type moving struct {
	*Cluster
	t     *testing.T
	at    time.Time
	hello [2]hemera.NodeHello
	lease [2]hemera.NodeWelcome
}

func newMoving(t *testing.T) *moving {
	m := &moving{t: t, at: time.Now()}
	m.Cluster = open(t, memkv.New(), func() time.Time { return m.at })
	m.hello[0], m.hello[1] = hello(1, 1), hello(2, 0)
	m.register(0)
	m.register(1)
	m.hello[0].Disks[0].ID = 1
	return m
}

// show has node i report the first node's disk, or an equal one, as it is there.
func (m *moving) show(i int, health hemera.DiskHealth, id hemera.DiskID) {
	d := hello(1, 1).Disks[0]
	d.Health, d.ID = health, id
	m.hello[i].Disks = []hemera.NodeDisk{d}
}

func (m *moving) register(i int) {
	m.lease[i] = register(m.t, m.Cluster, m.hello[i])
	m.hello[i].ID = m.lease[i].ID
}

func (m *moving) beat(i int) (hemera.HeartbeatReply, error) {
	return m.Leases.Heartbeat(m.lease[i].ID, m.lease[i].Epoch, hemera.NodeReport{Disks: m.hello[i].Disks})
}

func (m *moving) mustBeat(i int) hemera.HeartbeatReply {
	m.t.Helper()
	reply, err := m.beat(i)
	if err != nil {
		m.t.Fatal(err)
	}
	return reply
}

func (m *moving) silence() { m.at = m.at.Add(2 * hemera.HeartbeatTimeout) }

// is asserts which node has the disk.
func (m *moving) is(i int) {
	m.t.Helper()
	if d, _ := m.View().Disk(1); d.Node != m.lease[i].ID {
		m.t.Fatalf("the disk is of node %v, not of %v: %+v", d.Node, m.lease[i].ID, d)
	}
}

// A node that was switched off while its disk was carried away still has it on its list when it is back.
func TestANodeDoesNotTakeBackADiskThatWasCarriedAway(t *testing.T) {
	m := newMoving(t)
	m.silence()
	m.show(1, hemera.HealthOK, 0)
	m.register(1)
	m.is(1)
	m.show(0, hemera.HealthGone, 1)
	m.register(0)
	m.is(1)
	if reply := m.mustBeat(1); len(reply.Detach) != 0 {
		t.Errorf("the node that has the disk is told to let go of %v", reply.Detach)
	}
	if reply := m.mustBeat(0); !slices.Equal(reply.Detach, []hemera.DiskID{1}) {
		t.Errorf("the node that had it is told to let go of %v", reply.Detach)
	}
}

// The disk is shown at its new node before the old one has noticed.
func TestADiskMovesOnceItsNodeHasNoticed(t *testing.T) {
	m := newMoving(t)
	m.show(1, hemera.HealthOK, 0)
	m.register(1)
	m.is(0)
	if reply := m.mustBeat(1); len(reply.Detach) != 0 || m.lease[1].DiskIDs["u1.0"] != 0 {
		t.Errorf("%+v", reply)
	}
	m.show(0, hemera.HealthGone, 1)
	if reply := m.mustBeat(0); len(reply.Detach) != 0 {
		t.Error("let go of a disk that nobody else has yet")
	}
	if _, err := m.beat(1); !errors.Is(err, errs.Fenced) {
		t.Fatal(err)
	}
	m.register(1)
	m.is(1)
	if m.mustBeat(1); m.lease[1].DiskIDs["u1.0"] != 1 {
		t.Errorf("%+v", m.lease[1])
	}
}

// A copy of a disk, made by dd or a snapshot, does not take the place of the one that is in use.
func TestACopyOfADiskIsNotUsed(t *testing.T) {
	m := newMoving(t)
	m.show(1, hemera.HealthOK, 1)
	for range 3 {
		m.register(1)
		m.mustBeat(1)
		if reply := m.mustBeat(0); len(reply.Detach) != 0 {
			t.Fatalf("the node is told to let go of its disk: %v", reply.Detach)
		}
		m.register(0)
		m.is(0)
	}
}

// Two nodes that both show a failing disk do not take it from each other for ever.
func TestAFailingDiskHasOneNode(t *testing.T) {
	m := newMoving(t)
	m.show(0, hemera.HealthFailing, 1)
	m.mustBeat(0)
	m.show(1, hemera.HealthFailing, 1)
	m.register(1)
	m.mustBeat(1)
	m.is(0)
	m.show(1, hemera.HealthOK, 1)
	if _, err := m.beat(1); !errors.Is(err, errs.Fenced) {
		t.Fatal(err)
	}
	m.register(1)
	m.is(1)
	m.mustBeat(0)
	m.mustBeat(1)
}

// A node that lost its state and is admitted again within a lease gets its disks when that is over.
func TestADiskWaitsForTheLeaseOfItsNode(t *testing.T) {
	m := newMoving(t)
	m.show(1, hemera.HealthOK, 1)
	m.hello[1].Addr = m.hello[0].Addr
	if _, err := m.Leases.Register(t.Context(), m.hello[1]); !errors.Is(err, errs.Conflict) || errs.RemedyOf(err) == "" {
		t.Fatalf("two nodes at one address: %v", err)
	}
	m.is(0)
	m.at = m.at.Add(hemera.HeartbeatTimeout + 1)
	m.register(1)
	m.is(1)
	if n := m.View().Nodes; len(n) != 1 {
		t.Errorf("the node's former self is still listed: %+v", n)
	}
}

// A machine that was made of a copy of a node's state does not take the node's lease.
func TestACopyOfANodesStateWaits(t *testing.T) {
	m := newMoving(t)
	copied := m.hello[0]
	copied.Addr = "copy:1095"
	for range 3 {
		if _, err := m.Leases.Register(t.Context(), copied); !errors.Is(err, errs.Conflict) || errs.RemedyOf(err) == "" {
			t.Fatal(err)
		}
		m.at = m.at.Add(hemera.HeartbeatInterval)
		m.mustBeat(0)
	}
	m.silence()
	if w := register(t, m.Cluster, copied); w.ID != m.lease[0].ID { // it has been given another address
		t.Errorf("%+v", w)
	}
	if _, err := m.beat(0); !errors.Is(err, errs.Fenced) {
		t.Error(err)
	}
}

// A node may get the address that another one had, as machines that swap addresses do, and processes that choose their ports. The other one still has
// its identity, and is let in again with it, with disks or without.
func TestANodeThatTakesAnAddressReplacesNoOther(t *testing.T) {
	for _, test := range []struct {
		name    string
		disks   int  // of the node whose address is taken
		carried bool // those disks to the node that takes it
	}{
		{"a node without disks", 0, false}, {"a node whose disks stay away", 1, false}, {"a node whose disks were carried along", 1, true},
	} {
		t.Run(test.name, func(t *testing.T) {
			store := memkv.New()
			c := open(t, store, nil)
			first, second := hello(1, 1), hello(2, test.disks)
			first.ID, second.ID = register(t, c, first).ID, register(t, c, second).ID
			c = open(t, store, nil) // all restart
			first.Addr, second.Addr = second.Addr, first.Addr
			if test.carried {
				first.Disks, second.Disks = second.Disks, first.Disks
			}
			for _, h := range []hemera.NodeHello{first, second} {
				if w := register(t, c, h); w.ID != h.ID || len(w.DiskIDs) != len(h.Disks) {
					t.Errorf("node %v was given %+v", h.ID, w)
				}
			}
		})
	}
}
