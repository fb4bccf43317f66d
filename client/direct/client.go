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

// The modes. Auto decides by the file, and goes through the head where a file does not pay or nodes cannot be reached. Always
// reads coded files of all sizes so, and fails where nodes cannot be reached. Files of other layouts have nothing to gain:
// each mode reads them at the one node that the manager chooses.
const (
	Auto Mode = iota
	Always
	Never
)

// Options of a [Client]. The zero value is good.
type Options struct {
	Mode Mode
	// Note is called when a file does not go straight between this client and the nodes of its pieces, with the reason; nil for nobody. It is called
	// from several goroutines.
	Note func(file, reason string)
	// Straight is called when a file goes straight to or from the nodes of its pieces, with the layout; nil for nobody. It is
	// called from several goroutines.
	Straight func(file, layout string)
}

// Client reads from the nodes of any number of clusters. It has sessions of its own with nodes, one for each disk.
type Client struct {
	xrd   *xrootd.Client // for what goes to managers and heads; not closed by Close
	opts  Options
	nodes *peers.Peers
	reach *reach         // before nodes
	host  *transfer.Host // without disks: all pieces are its peers'
	spare chunks

	own   sync.Once
	speed int64 // of this machine's link, after own
}

// New makes a client that opens files with c. It connects to nothing yet.
func New(c *xrootd.Client, o Options) *Client {
	x := c.Options()
	nodes := peers.New(xrootd.Options{User: x.User, App: x.App, Log: x.Log, Anonymous: x.Anonymous, Permit: x.Permit, Sessions: 1})
	d := &Client{xrd: c, opts: o, nodes: nodes, reach: newReach(nodes, time.Now)}
	d.host = d.newHost(nil)
	return d
}

// newHost makes a host without disks: all pieces are its peers'.
func (c *Client) newHost(control transfer.Committer) *transfer.Host {
	return &transfer.Host{
		Node: piece.Node{
			Self:  func() hemera.NodeID { return 0 }, // no target is of node 0
			Disk:  func(hemera.DiskID) (disk.Store, bool) { return nil, false },
			Peers: c.reach,
			Log:   c.xrd.Options().Log,
		},
		Born:   func() uint64 { return 0 },
		Writes: transfer.Writes{Control: control},
	}
}

// Close ends all sessions with nodes. Reads in flight fail. It does not wait for them.
func (c *Client) Close() error { return c.nodes.Close() }

// straight tells that a file does not go through its head.
func (c *Client) straight(file string, l hemera.Layout) {
	if c.opts.Straight != nil {
		c.opts.Straight(file, l.String())
	}
}

// note tells why a file goes through its head.
func (c *Client) note(file, reason string) {
	c.xrd.Options().Log.Info("the file goes through one node", "file", file, "error", reason)
	if c.opts.Note != nil {
		c.opts.Note(file, reason)
	}
}
