package condition

import (
	"time"

	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// ExposedFiles are the files of one space and layout that do not survive the loss of a node or a zone, by where their pieces
// are. Their layout may be another than the space's, by attributes of directories, by requests, or as they were converted.
type ExposedFiles struct {
	Space  hemera.SpaceName
	Layout hemera.Layout // its block size is zero: blocks of all sizes are counted together
	// Node and Zone are how many do not survive the loss of one of them. PerNode and PerZone are the most pieces that one
	// has of such a file.
	Node, Zone       int64
	PerNode, PerZone int
	Path             string // of one of them
}

// SpaceLoss says which losses the files survive that a space gets now, if all of its disks were well: what follows from its
// layout, and from where its disks are.
type SpaceLoss struct {
	Space        hemera.SpaceName
	Layout       hemera.Layout
	Nodes, Zones int // that have disks of the space
	// PerNode and PerZone are the most pieces of a file that one node has, and one zone.
	PerNode, PerZone int
	// Each says that any one of them can be lost.
	Disk, Node, Zone bool
}

// Snapshot is the state of a cluster from which its conditions are found.
type Snapshot struct {
	Now       time.Time
	Version   string // of the manager
	View      *hemera.View
	Losses    []SpaceLoss    // of the spaces
	Exposed   []ExposedFiles // those that were found until now
	Jobs      []adminapi.JobStatus
	Namespace adminapi.NamespaceStats
	Quotas    []hemera.QuotaRow
	Files     adminapi.FileHealth
	Sessions  int
	Limits    []hemera.LimitUse // of the manager's process
	Bad       int               // pieces found bad that wait for repair, or are in repair
	// Rebuilding is since when the namespace is being rebuilt; zero if it is not.
	Rebuilding time.Time
	Network    adminapi.NetworkReport
	Tape       []tapeapi.Attention // what of the tape tier needs a person
}
