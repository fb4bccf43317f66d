package direct

import (
	"fmt"

	"hemera/rules/capability"
	"hemera/rules/layout"
	"hemera/transfer/proof"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// sizeMin is the size in bytes of the smallest file that Auto reads from its nodes. Below, to open the pieces costs more than
// their nodes gain. It is also what a manager with nodes of its own opens itself.
const sizeMin = 16 << 20

// parse returns the permit that a token is, for a file of a size. It fails with Invalid if the token is no capability to
// read, or says what no manager would.
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

// permitOf returns the permit of a token that has the capability, if its pieces are those of its layout. Nobody verified it. It is
// this client's own, and the nodes compare the token.
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

// wrong is the error of a capability that no manager would give.
func wrong(c *hemera.Capability, what string) error {
	return errs.New(errs.Invalid, "direct.Open", c.Path, "the capability "+what)
}

// suited says why a file is not to be read from its nodes, or returns "". Only nodes that can be reached count.
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

// suitedToWrite says why a file of about size bytes is not to be written to its nodes, or returns "". All nodes have to be
// reached, as a write takes all pieces.
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

// pays reports whether a client with a link of own bits per second writes faster if it sends all pieces itself than if its head
// sends them on. The client sends Pieces/Data of the file by itself; a head that keeps one piece sends the others, beside what
// it sends already. Where a speed is not known the client writes by itself: that carries no byte twice.
func pays(l hemera.Layout, own int64, head hemera.NetworkLink) bool {
	if own <= 0 || head.Speed <= 0 {
		return true
	}
	data, pieces := float64(l.Data), float64(l.Pieces)
	free := float64(max(0, head.Speed-head.Out))
	return float64(own)*data/pieces > min(float64(own), free*data/(pieces-1))
}
