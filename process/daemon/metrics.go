package daemon

import (
	"net"
	"net/http"
	"net/netip"
	"slices"

	"hemera/words/errs"
)

// guardMetrics lets only this machine and hosts of the networks read /metrics, which has names of hosts and paths and
// shows what users do. Other paths have their own rules. It checks addresses, since Prometheus has no identity here. A
// proxy on this machine would open /metrics to all its clients: it has to guard them itself.
func guardMetrics(networks []netip.Prefix, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" && !mayScrape(networks, r) {
			refusal := errs.New(errs.Denied, "daemon.Metrics", r.RemoteAddr, "metrics are given to this machine only").
				WithRemedy("name the network of the monitoring host with --metrics-networks")
			http.Error(w, errs.Plain(refusal.Error())+"\n  what to do: "+refusal.Remedy, http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// mayScrape reports whether the sender of a request may read /metrics: this machine, or a host of the networks.
func mayScrape(networks []netip.Prefix, r *http.Request) bool {
	if _, here := processOf(r); here {
		return true
	}
	remote, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return false
	}
	from := remote.Addr().Unmap()
	if from.IsLoopback() || slices.ContainsFunc(networks, func(n netip.Prefix) bool { return n.Contains(from) }) {
		return true
	}
	// A machine may use any of its addresses.
	at, _ := r.Context().Value(http.LocalAddrContextKey).(net.Addr)
	if at == nil {
		return false
	}
	local, err := netip.ParseAddrPort(at.String())
	return err == nil && local.Addr().Unmap() == from
}
