package load

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"hemera/client/xrootd"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// The loads, in the order in which they run.
const (
	Sequential = "sequential"
	Copies     = "copies"
	Random     = "random"
	Vector     = "vector"
	Mixed      = "mixed"
	Small      = "small"
	Metadata   = "metadata"
)

// Loads returns the names of all loads in their order.
func Loads() []string { return []string{Sequential, Copies, Random, Vector, Mixed, Small, Metadata} }

// alignment is the alignment that direct I/O needs for offsets, sizes and memory.
const alignment = 4096

// Options of a run. All sizes are bytes.
type Options struct {
	Targets    []string // root://host//directory, or a directory; several for Interference only
	Loads      []string // of Loads
	Layouts    []string // as for hemera.ParseLayout; none: the target's default
	Clients    []int    // numbers of clients, measured one after another
	Iterations int      // of everything; each is one sample
	Driver     string   // of Drivers

	Files      int           // of each client
	Size       int64         // of each file
	Transfer   int           // of each read and write of sequential loads
	Block      int           // of each random read, and of each element of a vector
	Elements   int           // of one vector
	SmallFiles int           // of each client; also the number of entries of Metadata
	SmallSize  int           // of each small file
	For        time.Duration // of a phase of random and vector reads

	Direct bool // O_DIRECT, for directories
	// ReadThrough is the directory of a single target in another mount of the same file system, for opens for reading.
	ReadThrough string
	Sync        bool // a file counts as written when it is durable
	Drop        bool // drop the page cache of this machine before each phase that reads; needs root

	// Layout is the layout of files without a chosen layout; zero if unknown.
	Layout hemera.Layout

	PIDs  []int   // of servers on this machine whose CPU time is measured
	Nodes []Node  // theoretical rates of the servers; empty if unknown
	Limit float64 // of Interference: bound of all targets together in B/s, such as the clients' network; 0 if unknown
}

// Bounds of the options: a run has a buffer for each client and a name for each file in memory.
const (
	clientsMax  = 4096
	filesMax    = 1 << 20  // of all clients
	transferMax = 64 << 20 // bytes
	elementsMax = 1024     // the protocol's bound of one readv
)

// Check fails with Invalid if an option is not usable, and names the first.
func (o *Options) Check() error {
	bad := func(subject, text string) error { return errs.New(errs.Invalid, "load.Check", subject, text) }
	// Names of files are kept in memory, and each client has two buffers.
	for _, n := range o.Clients {
		if n < 1 || n > clientsMax {
			return bad("--clients", fmt.Sprintf("it takes 1 to %d", clientsMax))
		}
		if files := n * max(o.Files, o.SmallFiles); files > filesMax {
			return bad("--files", fmt.Sprintf("%d files of all clients are more than %d", files, filesMax))
		}
	}
	for _, l := range o.Loads {
		if !slices.Contains(Loads(), l) {
			return bad("--load", fmt.Sprintf("%q is none of %s", l, strings.Join(Loads(), ", ")))
		}
	}
	for _, l := range o.Layouts {
		if _, err := hemera.ParseLayout(l, 0); err != nil {
			return bad("--layout", err.Error())
		}
	}
	if !slices.Contains(Drivers(), o.Driver) {
		return bad("--driver", fmt.Sprintf("%q is none of %s", o.Driver, strings.Join(Drivers(), ", ")))
	}
	switch {
	case o.ReadThrough != "" && (len(o.Targets) != 1 || xrootd.IsRemote(o.Targets[0])):
		return bad("--read-through", "it takes one target, which is a directory")
	case len(o.Clients) == 0 || len(o.Targets) == 0:
		return bad("", "it takes a target and a number of clients")
	case o.Iterations < 1 || o.Iterations > 1000:
		return bad("--iterations", "it takes 1 to 1000")
	case o.Files < 1 || o.wants(Small, Metadata) && o.SmallFiles < 1:
		return bad("--files", "each client needs one file at least")
	case o.Transfer < alignment || o.Transfer > transferMax:
		return bad("--transfer", fmt.Sprintf("it takes %d to %d bytes", alignment, transferMax))
	case o.wants(Random, Vector) && (o.Block < 1 || int64(o.Block) > o.Size || o.Elements < 1 || o.Elements > elementsMax || o.Block*o.Elements > transferMax):
		return bad("--block", fmt.Sprintf("a block fits in a file, and a vector has 1 to %d blocks of %d bytes in all", elementsMax, transferMax))
	case o.wants(Small) && (o.SmallSize < 1 || o.SmallSize > o.Transfer):
		return bad("--small-size", "it takes 1 byte to one transfer")
	case o.Size < 1:
		return bad("--size", "it takes 1 byte or more")
	case o.Direct && (o.Size|int64(o.Transfer)|int64(o.Block)|int64(o.SmallSize))%alignment != 0:
		return bad("--direct", fmt.Sprintf("with it all sizes are multiples of %d", alignment))
	}
	return nil
}

// wants reports whether one of the loads is measured.
func (o *Options) wants(loads ...string) bool {
	return slices.ContainsFunc(loads, func(l string) bool { return slices.Contains(o.Loads, l) })
}

// Ramp returns the numbers of clients 1, 2, 4 … up to n, and n.
func Ramp(n int) (clients []int) {
	for i := 1; i < n; i *= 2 {
		clients = append(clients, i)
	}
	return append(clients, n)
}
