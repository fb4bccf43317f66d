package admin

import "github.com/prometheus/client_golang/prometheus"

// Limit is one bound of a process and what is used of it. Share is what one client may have of Total.
// Refused counts since the process started.
type Limit struct {
	Name string // as in docs/operations.md, such as calls
	// Used, Total and Share have the unit of the bound: connections, bytes or requests.
	Used, Total, Share int64
	Clients            int // that use something of it now
	// RefusedShare counts refusals of one client that had its share, RefusedTotal those because all was in use.
	RefusedShare, RefusedTotal int64
}

var (
	mLimitUsed    = gauge("limit_used", "What is in use of a bound of this process; see Limits in docs/operations.md.", "limit")
	mLimitTotal   = gauge("limit_max", "The bound for all clients together.", "limit")
	mLimitShare   = gauge("limit_share_max", "The bound for one client.", "limit")
	mLimitClients = gauge("limit_clients", "Clients that use something of it.", "limit")
	mLimitRefused = counter("limit_refused_total", "Requests and connections that were refused: share is when one client had its share, total when all was in use.", "limit", "why")
)

// sendLimits sends the bounds of the process, and how often each refused a client.
func sendLimits(ch chan<- prometheus.Metric, limits []Limit) {
	// One series for each bound.
	for _, l := range limits {
		mLimitUsed.send(ch, float64(l.Used), l.Name)
		mLimitTotal.send(ch, float64(l.Total), l.Name)
		mLimitShare.send(ch, float64(l.Share), l.Name)
		mLimitClients.send(ch, float64(l.Clients), l.Name)
		mLimitRefused.send(ch, float64(l.RefusedShare), l.Name, "share")
		mLimitRefused.send(ch, float64(l.RefusedTotal), l.Name, "total")
	}
}
