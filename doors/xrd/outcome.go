package xrd

import (
	"net"
	"strconv"
	"strings"

	"hemera/doors/xrd/translate"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// These are failures of the protocol itself, which no service returns.
var (
	errBadHandle = translate.Refuse(wire.FileNotOpen, "the file handle is not open")
	errNoPath    = translate.Refuse(wire.ArgMissing, "the request lacks a path")
	errNoSession = translate.Refuse(wire.NotFound, "no such session")
)

// closeAfter is an error after whose answer the connection is closed.
type closeAfter struct{ error }

func (c closeAfter) Unwrap() error { return c.error }

// redirect is an outcome that sends the client elsewhere.
type redirect struct{ wire.Redirect }

func (*redirect) Error() string { return "redirected" }

// waitFor is an outcome that asks the client to send the request again later.
type waitFor wire.Wait

func (w *waitFor) Error() string { return w.Text }

// redirectTo sends the client to an address.
func redirectTo(addr string, opaque wire.Opaque) error {
	host, port, err := splitAddr(addr)
	if err != nil {
		return err
	}
	return &redirect{wire.Redirect{Port: port, Host: host, Opaque: opaque}}
}

// redirectToManager sends a client that asks a node about names to the manager.
func redirectToManager(r *request, managerAddr func() string) error {
	if len(r.payload) == 0 {
		return errNoPath
	}
	addr := managerAddr()
	if addr == "" {
		return errs.New(errs.Unavailable, "xrd.Redirect", "", "this node does not know its manager yet").
			WithRemedy("try again when the node has registered")
	}
	return redirectTo(addr, "")
}

// splitAddr splits host:port; brackets of IPv6 addresses stay, as clients expect them.
func splitAddr(addr string) (host string, port int32, err error) {
	h, p, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, errs.New(errs.Internal, "xrd.Redirect", addr, "not host:port")
	}
	n, err := strconv.ParseUint(p, 10, 16)
	if err != nil || n == 0 {
		return "", 0, errs.New(errs.Internal, "xrd.Redirect", addr, "not host:port")
	}
	if strings.Contains(h, ":") {
		h = "[" + h + "]"
	}
	return h, int32(n), nil
}

// headOf returns the node that a grant sends its client to, zero if none of its targets is there.
func headOf(g *hemera.Grant) hemera.NodeID {
	for _, at := range g.Permit.Targets {
		if at.Addr == g.Addr {
			return at.Node
		}
	}
	return 0
}

// redirectToHead sends the client to the head of its grant, with the permission to open there. hint says for how long
// it is to try to reach it.
func redirectToHead(g *hemera.Grant, hint wire.Opaque) error {
	token, err := g.Permit.Token() // signed at the first call
	if err != nil {
		return err
	}
	// The node's id comes back with a client that failed there: clients name hosts only, and a host may run several.
	return redirectTo(g.Addr, wire.Opaque(wire.OpaqueCapability+"="+token+"&"+wire.OpaqueNode+"="+headOf(g).String()+"&")+hint)
}
