package direct

import (
	"sync"
	"time"

	"hemera/client/xrootd"
	"hemera/disk"
	"hemera/transfer"
	"hemera/transfer/peers"
	"hemera/transfer/piece"
	"hemera/words/hemera"
)

// Mode says whether coded files are read from, and written to, the nodes of their pieces.
type Mode int

// The modes. Auto decides for each file, and uses the head if direct access does not pay or nodes cannot be reached.
// Always reads coded files of all sizes directly, and fails if nodes cannot be reached. For files of other layouts there
// is no difference: each mode reads them at the one node that the manager chooses.
const (
	Auto Mode = iota
	Always
	Never
)

// Options of a [Client]. The zero value is usable.
type Options struct {
	Mode Mode
	// Note is called with the reason if a file does not go directly between this client and the nodes of its pieces; may
	// be nil. It is called from several goroutines.
	Note func(file, reason string)
	// Straight is called with the layout if a file goes directly to or from the nodes of its pieces; may be nil. It is
	// called from several goroutines.
	Straight func(file, layout string)
}

// Client reads from and writes to the nodes of any number of clusters. It has its own sessions with nodes, one for each
// disk.
type Client struct {
	xrd   *xrootd.Client // for managers and heads; not closed by Close
	opts  Options
	nodes *peers.Peers
	reach *reach         // before nodes
	host  *transfer.Host // without disks: all pieces are at its peers
	spare chunks

	own   sync.Once
	speed int64 // of this machine's link, after own
}

// New makes a client that opens files with c. It does not connect yet.
func New(c *xrootd.Client, o Options) *Client {
	x := c.Options()
	nodes := peers.New(xrootd.Options{User: x.User, App: x.App, Log: x.Log, Anonymous: x.Anonymous, Permit: x.Permit, Sessions: 1})
	d := &Client{xrd: c, opts: o, nodes: nodes, reach: newReach(nodes, time.Now)}
	d.host = d.newHost(nil)
	return d
}

// newHost makes a host without disks: all pieces are at its peers.
func (c *Client) newHost(control transfer.Committer) *transfer.Host {
	return &transfer.Host{
		Node: piece.Node{
			Self:  func() hemera.NodeID { return 0 }, // no target is of node 0
			Disk:  func(hemera.DiskID) (disk.Store, bool) { return nil, false },
			Peers: c.reach,
			Log:   c.xrd.Options().Log,
		},
		Born:   func() hemera.Epoch { return 0 },
		Writes: transfer.Writes{Control: control},
	}
}

// Close closes all sessions with nodes. Reads in flight fail. It does not wait for them.
func (c *Client) Close() error { return c.nodes.Close() }

// straight reports that a file does not go through its head.
func (c *Client) straight(file string, l hemera.Layout) {
	if c.opts.Straight != nil {
		c.opts.Straight(file, l.String())
	}
}

// note reports why a file goes through its head.
func (c *Client) note(file, reason string) {
	c.xrd.Options().Log.Info("the file goes through one node", "file", file, "error", reason)
	if c.opts.Note != nil {
		c.opts.Note(file, reason)
	}
}
