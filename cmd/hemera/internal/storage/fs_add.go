package storage

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// fsAddCommand makes `hemera fs add`: the manager tells the node, and the command waits for the node's report. The
// manager records the order, so the command may end before the node uses the disk.
func fsAddCommand(e *cli.Env) *cobra.Command {
	var space hemera.SpaceName
	var folder bool
	c := &cobra.Command{
		Use: "add <node> <path>", Short: "Make a node use a mounted filesystem as a disk", Args: cobra.ExactArgs(2),
		Long: `Tells a node to use a directory, normally the mount point of an empty filesystem, as a
disk, and waits a moment for it. The node is named by its id, host or host:port. The
directory must exist on the node's machine: a misspelt mount point is an error. A directory where
nothing is mounted is refused too, unless --folder says that a folder is meant (hemera up takes
folders as they are). A node that is offline takes the disk when it is back.`,
		Example: `  hemera fs add node1.example.org /data07
  hemera fs add 2 /data07 --space fast`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				n, err := FindNode(ctx, m, args[0])
				if err != nil {
					return err
				}
				if err := m.Cluster.AddDisk(ctx, n.ID, hemera.AttachDisk{Path: args[1], Space: space, Folder: folder}); err != nil {
					return err
				}
				return awaitDisk(ctx, e, m, n, args[1])
			})
		},
	}
	c.Flags().BoolVar(&folder, "folder", false, "take a directory that is not a filesystem of its own")
	c.Flags().StringVar((*string)(&space), "space", string(hemera.DefaultSpace), "the `space` the disk belongs to")
	_ = c.RegisterFlagCompletionFunc("space", complete.Spaces(e))
	c.ValidArgsFunction = complete.Nodes(e)
	return c
}

// attachTime is the longest wait of fs add for the node, and attachPoll the time between two requests.
const (
	// A stopped node is seen as offline well before this time has passed.
	attachTime = 3 * hemera.HeartbeatTimeout
	// The manager answers a view from memory, so this costs it little.
	attachPoll = 100 * time.Millisecond
)

// awaitDisk waits until the node uses the path as a disk, or reports why it cannot. An offline or slow node is not an
// error: it takes the disk later. An interruption ends only the wait.
func awaitDisk(ctx context.Context, e *cli.Env, m *admin.Client, n hemera.NodeInfo, path string) error {
	tick := time.NewTicker(attachPoll)
	defer tick.Stop()
	for end := time.Now().Add(attachTime); ; {
		v, err := m.Cluster.View(ctx)
		if err != nil {
			return err
		}
		// The node uses the disk once the manager has its report, whatever the health.
		for _, d := range v.Disks {
			if d.Node == n.ID && d.Path == path {
				e.Say("disk %d of space %s: %s on node %s", d.ID, d.Space, path, n.Addr)
				return nil
			}
		}
		// The node reports why it cannot use a path.
		n, _ := v.Node(n.ID)
		for _, u := range n.Stats.Unusable {
			if u.Path == path {
				return errs.New(errs.Invalid, "hemera.FsAdd", path, u.Why).WithRemedy("put that right on the node, then add it again; --folder takes a directory where nothing is mounted")
			}
		}
		// The time limit is not an error either: the manager keeps the order.
		if n.Status != hemera.NodeOnline || !time.Now().Before(end) {
			e.Say("node %s will use %s when it can; see hemera fs ls", n.Addr, path)
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return errs.Wrap(ctx.Err(), "hemera.FsAdd", path)
		}
	}
}
