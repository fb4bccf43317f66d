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

// Failures of the protocol itself, which no service returns.
var (
	errBadHandle = translate.Refuse(wire.FileNotOpen, "the file handle is not open")
	errNoPath    = translate.Refuse(wire.ArgMissing, "the request lacks a path")
	errNoSession = translate.Refuse(wire.NotFound, "no such session")
)

// closeAfter is an error after whose answer the connection is closed.
type closeAfter struct{ error }

func (c closeAfter) Unwrap() error { return c.error }

// redirect is an outcome that sends the client to another server.
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

// redirectToManager redirects a request about names to the manager.
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

// splitAddr splits host:port. It keeps the brackets of IPv6 addresses, because clients expect them.
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

// headOf returns the node to which a grant redirects its client; zero if no target has its address.
func headOf(g *hemera.Grant) hemera.NodeID {
	for _, at := range g.Permit.Targets {
		if at.Addr == g.Addr {
			return at.Node
		}
	}
	return 0
}

// redirectToHead redirects the client to the head of its grant, with the permission to open there. hint says for how long
// to try to connect.
func redirectToHead(g *hemera.Grant, hint wire.Opaque) error {
	token, err := g.Permit.Token() // signed at the first call
	if err != nil {
		return err
	}
	// A client that fails there sends the node's id back: clients name only hosts, and a host may run several nodes.
	return redirectTo(g.Addr, wire.Opaque(wire.OpaqueCapability+"="+token+"&"+wire.OpaqueNode+"="+headOf(g).String()+"&")+hint)
}
