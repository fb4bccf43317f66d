package admin

import "github.com/prometheus/client_golang/prometheus"

// Limit is one bound of a process and its use. Share is the part of Total that one client may have. Refusals are counted
// from the start of the process.
type Limit struct {
	Name string // as in docs/operations.md, such as calls
	// Used, Total and Share have the unit of the bound: connections, bytes or requests.
	Used, Total, Share int64
	Clients            int // clients that use some of it now
	// RefusedShare counts refusals because the client had its share, RefusedTotal those because everything was in use.
	RefusedShare, RefusedTotal int64
}

var (
	mLimitUsed    = gauge("limit_used", "What is in use of a bound of this process; see Limits in docs/operations.md.", "limit")
	mLimitTotal   = gauge("limit_max", "The bound for all clients together.", "limit")
	mLimitShare   = gauge("limit_share_max", "The bound for one client.", "limit")
	mLimitClients = gauge("limit_clients", "Clients that use something of it.", "limit")
	mLimitRefused = counter("limit_refused_total", "Requests and connections that were refused: share is when one client had its share, total when all was in use.", "limit", "why")
)

// sendLimits sends the bounds of the process, and the number of refusals of each.
func sendLimits(ch chan<- prometheus.Metric, limits []Limit) {
	for _, l := range limits {
		mLimitUsed.send(ch, float64(l.Used), l.Name)
		mLimitTotal.send(ch, float64(l.Total), l.Name)
		mLimitShare.send(ch, float64(l.Share), l.Name)
		mLimitClients.send(ch, float64(l.Clients), l.Name)
		mLimitRefused.send(ch, float64(l.RefusedShare), l.Name, "share")
		mLimitRefused.send(ch, float64(l.RefusedTotal), l.Name, "total")
	}
}
