package xrd

import (
	"net/netip"
	"time"

	"hemera"
	"hemera/errs"
	"hemera/rules/limits"
)

const (
	// requestMemory is the most memory for long requests on their way in, checkpointMemory for what checkpoints
	// keep. A client gets a quarter of either.
	requestMemory    = 256 << 20
	checkpointMemory = 128 << 20
	// callsMost is how many calls of the admin API are answered at the same time, callsShare how many of one client.
	callsMost, callsShare = 128, 8
	// hurryRate is how many bytes of a request without file data have to arrive in a second, at least.
	hurryRate = 100 << 10
)

// Client is who uses something of a server: the user who logged in, or, of nobody, the address.
type Client struct {
	Addr netip.Addr
	Name string
	UID  uint32
}

// Budgets bound what the clients of all doors of a process use together. The zero Budgets is not useful.
type Budgets struct {
	// Requests is memory for requests that are long, or do not come at once, in bytes.
	Requests *limits.Budget[Client]
	// Checkpoints is memory for what changes under a checkpoint overwrote, in bytes.
	Checkpoints *limits.Budget[Client]
	// Handles are open files.
	Handles *limits.Budget[Client]
	// Calls are calls of the admin API under way.
	Calls *limits.Budget[Client]
}

// NewBudgets makes budgets for a process that may have so many files open, and takes so much memory as its
// machine's, in bytes. Handles get a quarter of the files, a client half of that.
func NewBudgets(files, memory int64) *Budgets {
	part := func(name string, most int64) *limits.Budget[Client] {
		total := max(16<<20, min(most, memory/32))
		return limits.NewBudget[Client](name, limits.Bounds{Total: total, Share: total / 4})
	}
	handles := max(64, files/4)
	return &Budgets{
		Requests: part("request_bytes", requestMemory), Checkpoints: part("checkpoint_bytes", checkpointMemory),
		Handles: limits.NewBudget[Client]("open_files", limits.Bounds{Total: handles, Share: handles / 2}),
		Calls:   limits.NewBudget[Client]("calls", limits.Bounds{Total: callsMost, Share: callsShare}),
	}
}

// Usages are of all budgets.
func (b *Budgets) Usages() []limits.Usage {
	return []limits.Usage{b.Requests.Usage(), b.Checkpoints.Usage(), b.Handles.Usage(), b.Calls.Usage()}
}

// countedAs is by what the connection's client is counted.
func (c *conn) countedAs() Client {
	if c.session != nil {
		if who := c.session.identity(); who != nil && who.UID != hemera.NobodyID {
			return Client{Name: who.Name, UID: who.UID}
		}
	}
	return Client{Addr: limits.AddressKey(c.peer.Remote.Addr())}
}

// reserve takes n bytes for a request, until it has run. Whoever gets no room is to give the request up.
func (c *conn) reserve(r *request, n int) limits.Verdict {
	if as := c.countedAs(); c.waiting == nil || c.waitingAs != as {
		c.closeAccount()
		c.waiting, c.waitingAs = c.srv.o.Budgets.Requests.Open(as), as
	}
	account := c.waiting // kept open: most connections that need it once do so again
	verdict := account.Take(int64(n))
	if verdict == limits.Fits {
		r.release = func() { account.Give(int64(n)) }
	}
	return verdict
}

// closeAccount ends what the connection has of a budget.
func (c *conn) closeAccount() {
	if c.waiting != nil {
		c.waiting.Close()
		c.waiting = nil
	}
}

// hurry bounds how long the client may take to send the next n bytes, until the function it returns is called.
func (c *conn) hurry(n int64) (over func()) {
	if c.hurried || !c.ready() {
		return func() {} // a client that logs in has the time for that
	}
	c.hurried = true
	_ = c.nc.SetReadDeadline(time.Now().Add(c.limits.RequestTime + time.Duration(n)*time.Second/hurryRate))
	return func() {
		c.hurried, c.armed = false, time.Time{}
		_ = c.nc.SetReadDeadline(time.Time{})
	}
}

// place counts one more open file.
func (c *conn) place() (*limits.Account[Client], error) {
	ss := c.session
	if ss.files == nil {
		ss.files = c.srv.o.Budgets.Handles.Open(c.countedAs())
	}
	if verdict := ss.files.Take(1); verdict != limits.Fits {
		return nil, errs.New(errs.Overloaded, "xrd.Open", "", "too many files are open at this server: "+verdict.String()).
			WithRemedy("close some, or let the server have more open files (LimitNOFILE)")
	}
	return ss.files, nil
}

// leave ends the count of an open file.
func (h *handle) leave() {
	if h.place != nil {
		h.place.Give(1)
		h.place = nil
	}
}
