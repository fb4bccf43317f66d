package xrootd

import (
	"slices"
	"strings"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// Bounds of one operation's path through the cluster.
const (
	redirectsMax = 16 // as in the stock clients; the only detection of loops
	failoversMax = 8  // servers that may fail before the operation does
)

// Opaque keys that tell a manager which servers to avoid.
const (
	keyTried  = "tried"   // host names, comma separated, without ports
	keyReason = "triedrc" // one word for each
)

// route has the next server of one operation and the parameters for it. It is a value: each event makes a new one,
// without I/O.
type route struct {
	url     URL      // server to ask now; path and opaque as sent in requests
	manager Endpoint // the last server that redirected
	managed bool     // manager is set
	hops    int      // redirects since the manager
	tried   []string // hosts that failed
	reasons []string // one for each of tried
	nodes   []string // hem.node of the tried ones, because hosts do not distinguish two nodes on one machine
}

// newRoute begins at the URL as the user gave it.
func newRoute(u URL) route { return route{url: u} }

// redirection is the content of a server's redirect. An empty path keeps the request's.
type redirection struct {
	to     Endpoint // the next server
	path   string
	opaque wire.Opaque
}

// parseRedirect reads both forms of a redirect: a host with a port, or a whole URL with a negative
// port.
func parseRedirect(body []byte) (redirection, error) {
	w, err := wire.ParseRedirect(body)
	if err != nil {
		return redirection{}, errs.As(err, errs.Invalid, "xrootd.FollowRedirect", "")
	}
	if w.Port > 0 { // the usual form
		e, err := ParseEndpoint(w.Host)
		e.Port = int(w.Port)
		return redirection{to: e, opaque: w.Opaque}, err
	}
	u, err := ParseURL(w.Host)
	if err != nil {
		return redirection{}, err
	}
	r := redirection{to: u.Endpoint, path: u.Path, opaque: w.Opaque}
	if u.Path == "/" {
		r.path = ""
	}
	return r, nil
}

// redirected returns the route after a redirect. It fails if there were too many.
func (r route) redirected(to redirection) (route, error) {
	if r.hops >= redirectsMax {
		return r, errs.New(errs.Unavailable, "xrootd.FollowRedirect", r.url.Redacted(), "more than 16 redirects; servers send each other the client in a circle")
	}
	r.manager, r.managed = r.url.Endpoint, true // the server to ask when the next one fails
	user := r.url.User
	r.url.Endpoint = to.to
	if to.to.User == "" { // the session continues as the same user
		r.url.User = user
	}
	if to.path != "" {
		r.url.Path = to.path
	}
	for key, value := range to.opaque.All() {
		r.url.Opaque = r.url.Opaque.With(key, value) // the redirect's take precedence, as in the stock clients
	}
	r.url.Opaque = r.url.Opaque.Without(keyTried).Without(keyReason)
	r.hops++
	return r, nil
}

// failed returns the route after the server failed for a reason of its own, and whether another server may be asked: it
// leads back to the manager, with the names of all servers that failed.
func (r route) failed(kind errs.Kind) (route, bool) {
	reason := failoverReason(kind)
	if reason == "" || !r.managed || r.url.Endpoint == r.manager || len(r.tried) >= failoversMax {
		return r, false
	}
	r.tried = append(slices.Clip(r.tried), r.url.Host)
	r.reasons = append(slices.Clip(r.reasons), reason)
	if node := r.url.Opaque.Value(wire.OpaqueNode); node != "" && !slices.Contains(r.nodes, node) {
		r.nodes = append(slices.Clip(r.nodes), node)
	}
	r.url.Endpoint = r.manager // without the parameters for the failed server
	r.url.Opaque = r.url.Opaque.Without(wire.OpaqueCapability).Without(wire.OpaqueNode).
		With(keyTried, strings.Join(r.tried, ",")).With(keyReason, strings.Join(r.reasons, ","))
	if len(r.nodes) > 0 {
		r.url.Opaque = r.url.Opaque.With(wire.OpaqueNode, strings.Join(r.nodes, ","))
	}
	r.hops = 0 // failoversMax bounds this
	return r, true
}

// withoutTried returns the route with no server marked as failed.
func (r route) withoutTried() route {
	r.tried, r.reasons, r.nodes = nil, nil, nil
	r.url.Opaque = r.url.Opaque.Without(keyTried).Without(keyReason).Without(wire.OpaqueNode)
	return r
}

// failoverReason returns the triedrc word for a failure that another server may not have, "" for those that every server
// would repeat.
func failoverReason(kind errs.Kind) string {
	switch kind {
	case errs.NotFound:
		return "enoent"
	case errs.IO, errs.Corrupt:
		return "ioerr"
	case errs.ReadOnly:
		return "fserr"
	case errs.Unavailable, errs.Timeout, errs.Overloaded, errs.Internal, errs.Fenced:
		return "srverr"
	}
	return ""
}
