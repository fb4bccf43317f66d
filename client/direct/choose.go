package direct

import (
	"fmt"

	"hemera/rules/capability"
	"hemera/rules/layout"
	"hemera/transfer/proof"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// sizeMin is the size in bytes of the smallest file that Auto reads from its nodes. For smaller files, opening the pieces
// takes longer than their nodes save. A manager with nodes in its process opens files below the same size itself.
const sizeMin = 16 << 20

// parse returns the permit of a token, for a file of a size. It fails with Invalid if the token is not a capability to
// read, or has values that no manager would sign.
func parse(token string, size int64) (*hemera.Permit, error) {
	c, err := capability.Peek(token)
	if err != nil {
		return nil, err
	}
	switch {
	case c.Access != hemera.AccessRead:
		return nil, wrong(&c, "is not for reading")
	case c.Size != size || size < 0 || size > hemera.FileSizeMax:
		return nil, wrong(&c, "is for a file of another size")
	}
	return permitOf(&c, token)
}

// permitOf returns the permit of a token with the capability, if its pieces are those of its layout. The token is not
// verified: it is this client's own, and the nodes verify it.
func permitOf(c *hemera.Capability, token string) (*hemera.Permit, error) {
	if c.Layout.Validate() != nil {
		return nil, wrong(c, "has a layout that cannot be")
	}
	for _, t := range c.Targets {
		if t.Index >= c.Layout.Pieces {
			return nil, wrong(c, "has a piece that its layout does not have")
		}
	}
	return hemera.VerifiedPermit(*c, token), nil
}

// wrong returns the error for a capability that no manager would sign.
func wrong(c *hemera.Capability, what string) error {
	return errs.New(errs.Invalid, "direct.Open", c.Path, "the capability "+what)
}

// suited returns the reason why a file should not be read from its nodes, or "". Only nodes that can be reached count.
func suited(m Mode, c *hemera.Capability, reachable func(addr string) bool) (reason string) {
	if !c.Layout.Coded() {
		return "its layout is " + c.Layout.String() + ", so one node has all of it"
	}
	data, nodes, have := 0, map[hemera.NodeID]bool{}, layout.Set(0)
	for _, t := range c.Targets {
		if reachable(t.Addr) {
			have = have.With(int(t.Index))
		}
		if t.Index < c.Layout.Data && layout.Stored(c.Layout, c.Size, t.Index) {
			nodes[t.Node] = true
			data++
		}
	}
	switch {
	case c.Size == 0:
		return "it is empty"
	case !layout.Readable(c.Layout, c.Size, have):
		return "too few of its nodes could be reached a short while ago"
	case m == Always:
		return ""
	case c.Size < sizeMin:
		return fmt.Sprintf("it has less than %d MiB", sizeMin>>20)
	case data < 2 || len(nodes) < 2:
		return "one node has all of its data"
	}
	return ""
}

// suitedToWrite returns the reason why a file of about size bytes should not be written to its nodes, or "". All nodes
// must be reachable, as a write needs all pieces.
func suitedToWrite(m Mode, c *hemera.Capability, size int64, reachable func(addr string) bool) (reason string) {
	nodes, data := map[hemera.NodeID]bool{}, 0
	for _, t := range c.Targets {
		switch {
		case !reachable(t.Addr):
			return "one of its nodes could not be reached a short while ago"
		case t.Index < c.Layout.Data:
			nodes[t.Node] = true
			data++
		}
	}
	switch {
	case !c.Layout.Coded():
		return "its layout is " + c.Layout.String() + ", which its head writes"
	case len(c.Targets) < int(c.Layout.Pieces):
		return fmt.Sprintf("only %d disks can take one of its %d pieces now", len(c.Targets), c.Layout.Pieces)
	case c.SizeMax > 0 && c.Size < size:
		return "a quota holds, and its size was not announced"
	case !proof.Provable(c.Checksums):
		return "it has a checksum that needs all of its bytes in one place"
	case m == Always:
		return ""
	case size < sizeMin:
		return fmt.Sprintf("it has less than %d MiB", sizeMin>>20)
	case len(nodes) < 2:
		return "one node has all of its data"
	}
	return ""
}

// pays reports whether a client with a link of own bits per second writes faster if it sends all pieces itself than if
// its head forwards them. The client would send Pieces/Data of the file; a head that keeps one piece forwards the others,
// in addition to its current traffic. If a speed is not known, the client sends the pieces itself: then no byte is sent
// twice.
func pays(l hemera.Layout, own int64, head hemera.NetworkLink) bool {
	if own <= 0 || head.Speed <= 0 {
		return true
	}
	data, pieces := float64(l.Data), float64(l.Pieces)
	free := float64(max(0, head.Speed-head.Out))
	return float64(own)*data/pieces > min(float64(own), free*data/(pieces-1))
}
