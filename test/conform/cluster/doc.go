// Package cluster proves, with whole clusters in one process on loopback and the client of package
// client, what an admin is promised: drains, repairs, restarts, joins. It has tests only.
package cluster
