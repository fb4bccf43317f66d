package direct

import (
	"fmt"

	"hemera"
	"hemera/errs"
	"hemera/rules/capability"
	"hemera/rules/layout"
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
	wrong := func(what string) (*hemera.Permit, error) {
		return nil, errs.New(errs.Invalid, "direct.Open", c.Path, "the capability "+what)
	}
	switch {
	case c.Access != hemera.AccessRead:
		return wrong("is not for reading")
	case c.Size != size || size < 0 || size > hemera.FileSizeMax:
		return wrong("is for a file of another size")
	case c.Layout.Validate() != nil:
		return wrong("has a layout that cannot be")
	}
	for _, t := range c.Targets {
		if t.Index >= c.Layout.Pieces {
			return wrong("has a piece that its layout does not have")
		}
	}
	// Nobody verified it. It is this client's own, and the nodes compare the token.
	return hemera.VerifiedPermit(c, token), nil
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
