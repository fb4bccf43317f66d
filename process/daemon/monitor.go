package daemon

import (
	"net/http"
	"runtime"
	"time"

	"hemera/doors/admin"
	"hemera/node"
	"hemera/words/adminapi"
)

// monitorNode returns a handler for /metrics and /healthz at a node's port. The manager has the metrics of disks of all
// nodes.
func monitorNode(n *node.Node, o NodeOptions) http.Handler {
	return admin.NewMonitor(admin.MonitorOptions{
		Version:  versionInfo(o.Version, o.Commit, "node"),
		Counters: func() []admin.Counter { return countersOf(n) }, Limits: o.Bounds.Usages, Log: o.Log,
	})
}

// countersOf reads the counters of a node for /metrics. Each is read separately, so they need not be consistent with each
// other. Names are API: dashboards depend on them.
func countersOf(n *node.Node) []admin.Counter {
	c := n.Counters()
	return []admin.Counter{
		{Name: "read_bytes_total", Help: "Bytes of files sent to clients and peers.", Value: c.ReadBytes.Load()},
		{Name: "write_bytes_total", Help: "Bytes of files received from clients and peers.", Value: c.WriteBytes.Load()},
		{Name: "checksum_errors_total", Help: "Pages and pieces that did not match their checksum.", Value: c.ChecksumErrors.Load()},
		{Name: "repaired_pages_total", Help: "Bad pages that were repaired.", Value: c.Repairs.Load()},
		{Name: "repairs_failed_total", Help: "Bad pages that could not be repaired.", Value: c.RepairsFailed.Load()},
		{Name: "read_switches_total", Help: "Reads that went on at another piece.", Value: c.Switches.Load()},
		{Name: "replaced_pieces_total", Help: "Pieces of writes that moved to another disk.", Value: c.Replaced.Load()},
		{Name: "short_commits_total", Help: "Files committed with fewer pieces than their layout's.", Value: c.Short.Load()},
		{Name: "commits_total", Help: "Files committed.", Value: c.Commits.Load()},
		{Name: "aborts_total", Help: "Writes cancelled.", Value: c.Aborts.Load()},
		{Name: "panics_total", Help: "Work that failed by a defect of the program.", Value: n.Panics().Count()},
	}
}

// versionInfo describes this process for hemera version.
func versionInfo(version, commit, role string) adminapi.VersionInfo {
	return adminapi.VersionInfo{Version: version, Commit: commit, Go: runtime.Version(), Arch: runtime.GOOS + "/" + runtime.GOARCH, Role: role, Started: time.Now()}
}
