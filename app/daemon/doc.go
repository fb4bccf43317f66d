// Package daemon assembles processes: it opens stores and disks, joins services to doors, puts all
// doors of a process on one port, and ends them in order. It decides nothing itself.
package daemon
