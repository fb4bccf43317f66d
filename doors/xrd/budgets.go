package xrd

import (
	"net/netip"

	"hemera/platform/auth"
	"hemera/rules/limits"
)

const (
	// requestMemory bounds the memory of incoming long requests, checkpointMemory that of checkpoints. One client gets a
	// quarter of each.
	requestMemory    = 256 << 20
	checkpointMemory = 128 << 20
	// callsMax bounds the concurrent calls of the admin API, callsPerClient those of one client.
	callsMax, callsPerClient = 128, 8
	// heldMax bounds the opens that are held until nodes have come back, heldPerClient those of one client. A held open takes about 10 KB.
	heldMax, heldPerClient = 4096, 1024
)

// Client identifies the client whose use of a server is charged: the user that logged in or, without one, the address.
type Client struct {
	Addr netip.Addr
	Name string
	UID  uint32
}

// Budgets bound the resources that the clients of all doors of a process use together. The zero Budgets is not useful.
type Budgets struct {
	// Requests bounds memory, in bytes, for requests that are long or arrive slowly.
	Requests *limits.Budget[Client]
	// Checkpoints bounds memory, in bytes, for the data that changes under a checkpoint overwrite.
	Checkpoints *limits.Budget[Client]
	// Handles bounds open files.
	Handles *limits.Budget[Client]
	// Calls bounds concurrent calls of the admin API.
	Calls *limits.Budget[Client]
	// Held bounds the opens that are held until nodes have come back.
	Held *limits.Budget[Client]
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
		Held:    limits.NewBudget[Client]("held_opens", limits.Bounds{Total: heldMax, Share: heldPerClient}),
	}
}

// Usages returns the usage of each budget.
func (b *Budgets) Usages() []limits.Usage {
	return []limits.Usage{b.Requests.Usage(), b.Checkpoints.Usage(), b.Handles.Usage(), b.Calls.Usage(), b.Held.Usage()}
}

// clientAt returns the client of a connection. Only its address is known.
func clientAt(p auth.Peer) Client { return Client{Addr: limits.AddressKey(p.Remote.Addr())} }
