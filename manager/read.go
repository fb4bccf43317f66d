package manager

import (
	"slices"

	"hemera/cluster"
	"hemera/namespace"
	"hemera/rules/place"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// reader grants reads.
type reader struct {
	cluster *cluster.Cluster
	nonces  *nonces // the seeds of random choices
	broken  brokenList
}

// grant grants a read: the pieces that can be read, best first. NoReplicas.
func (r *reader) grant(c *hemera.Capability, prep *namespace.Prepared, q hemera.OpenRequest) (hemera.Grant, error) {
	if prep.Entry.IsDir() {
		return hemera.Grant{}, errs.New(errs.IsDirectory, "manager.Open", q.Path, "")
	}
	describe(c, &prep.Entry)
	view := r.cluster.View()
	seed := r.nonces.next() // equal replicas take turns
	// An empty file has no pieces and is read at any node.
	if len(prep.Entry.Pieces) == 0 && prep.Entry.Size == 0 {
		c.Targets = anyNode(view, q.Tried, seed)
	} else {
		c.Targets = place.Order(view, prep.Entry.Pieces, c.Who.Host, q.Tried, seed)
	}
	// All nodes have failed this client. Other disks of these nodes may still do: the failure may have been a disk's.
	if len(c.Targets) == 0 && len(q.Avoid) > 0 {
		left := slices.DeleteFunc(slices.Clone(prep.Entry.Pieces), func(p hemera.Piece) bool { return slices.Contains(q.Avoid, p.Disk) })
		c.Targets = place.Order(view, left, c.Who.Host, nil, seed)
	}
	if len(c.Targets) == 0 {
		return hemera.Grant{}, r.broken.noReplicas(view, q.Path, &prep.Entry, nil, q.Tried)
	}
	// Copies are alike, so the best node comes first as it is. Of a coded file some nodes have data and others parity.
	if c.Layout.Coded() {
		place.Lead(view, c.Targets, c.Layout.Data, c.Who.Host)
	}
	if len(q.Tried) > 0 {
		// The node may still read the others' pieces when its own is bad.
		for _, t := range place.Order(view, prep.Entry.Pieces, c.Who.Host, nil, seed) {
			if !slices.Contains(c.Targets, t) {
				c.Targets = append(c.Targets, t)
			}
		}
	}
	// The tried ones count: the head may reach what this client could not.
	if !enough(c.Layout, c.Size, c.Targets) {
		return hemera.Grant{}, r.broken.noReplicas(view, q.Path, &prep.Entry, c.Targets, nil)
	}
	return grant(c, r.cluster.Keys.Ring()), nil
}

// describe fills in what a read capability says of the file.
func describe(c *hemera.Capability, e *hemera.Entry) {
	c.File, c.Gen, c.Parent, c.Name = e.ID, e.Gen, e.Parent, e.Name
	c.Layout, c.Space, c.Size, c.Mode, c.Sums = e.Layout, e.Space, e.Size, e.Mode, e.Checksums
}

// anyNode returns the node at which an empty file is read: it has no pieces, so every online node will do.
func anyNode(v *hemera.View, tried []hemera.NodeID, seed uint64) []hemera.Target {
	// Zero nodes: the loop below does nothing, so the division is never by zero.
	count := uint64(len(v.Nodes))
	for i := range count {
		n := &v.Nodes[(seed%count+i)%count]
		if n.Status == hemera.NodeOnline && n.Enabled && !slices.Contains(tried, n.ID) {
			return []hemera.Target{{Node: n.ID, Addr: n.Addr}}
		}
	}
	return nil
}

// grant sends the client to the capability's first target. The token is signed when a caller asks for it: an open that is
// served in this process needs none.
func grant(c *hemera.Capability, s hemera.Signer) hemera.Grant {
	return hemera.Grant{Addr: c.Targets[0].Addr, Permit: hemera.NewPermit(*c, s)}
}
