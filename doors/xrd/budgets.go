package xrd

import (
	"net/netip"

	"hemera/platform/auth"
	"hemera/rules/limits"
)

const (
	// requestMemory is the most memory for long requests on their way in, checkpointMemory for what checkpoints
	// keep. A client gets a quarter of either.
	requestMemory    = 256 << 20
	checkpointMemory = 128 << 20
	// callsMax is how many calls of the admin API are answered at the same time, callsPerClient how many of one client.
	callsMax, callsPerClient = 128, 8
)

// Client names whom the use of a server is charged to: the user that logged in or, without one, the address.
type Client struct {
	Addr netip.Addr
	Name string
	UID  uint32
}

// Budgets bound what the clients of all doors of a process use together. The zero Budgets is not useful.
type Budgets struct {
	// Requests is memory for requests that are long, or do not arrive at once, in bytes.
	Requests *limits.Budget[Client]
	// Checkpoints is memory for what changes under a checkpoint overwrote, in bytes.
	Checkpoints *limits.Budget[Client]
	// Handles are open files.
	Handles *limits.Budget[Client]
	// Calls are calls of the admin API under way.
	Calls *limits.Budget[Client]
}

// NewBudgets makes budgets for a process that may have files open files, on a machine with memory bytes. Handles get a
// quarter of the files, a client half of that.
func NewBudgets(files, memory int64) *Budgets {
	part := func(name string, memoryMax int64) *limits.Budget[Client] {
		total := max(16<<20, min(memoryMax, memory/32))
		return limits.NewBudget[Client](name, limits.Bounds{Total: total, Share: total / 4})
	}
	handles := max(64, files/4)
	return &Budgets{
		Requests: part("request_bytes", requestMemory), Checkpoints: part("checkpoint_bytes", checkpointMemory),
		Handles: limits.NewBudget[Client]("open_files", limits.Bounds{Total: handles, Share: handles / 2}),
		Calls:   limits.NewBudget[Client]("calls", limits.Bounds{Total: callsMax, Share: callsPerClient}),
	}
}

// Usages returns the usage of each budget.
func (b *Budgets) Usages() []limits.Usage {
	return []limits.Usage{b.Requests.Usage(), b.Checkpoints.Usage(), b.Handles.Usage(), b.Calls.Usage()}
}

// clientAt returns the client of a connection, if only its address is known.
func clientAt(p auth.Peer) Client { return Client{Addr: limits.AddressKey(p.Remote.Addr())} }
