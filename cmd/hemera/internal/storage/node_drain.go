package storage

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// nodeDrainCommand makes `hemera node drain`, which starts a drain of each disk of a node that is in use. Disks that are
// off stay off. The command returns when the manager has recorded the changes; the drains run in the background.
func nodeDrainCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "drain <node>", Short: "Empty all disks of a node onto the others", Args: cobra.ExactArgs(1),
		Long: `Sets every disk of a node to drain: it stays readable, takes no new files, and all it holds is
moved to other nodes and disks of the same spaces. hemera node ls shows how far that is. When the node
says drained, its disks can be removed (hemera fs rm), and then the node (hemera node rm).`,
		Example: `  hemera node drain node3.example.org
  hemera node status node3.example.org     drainstatus, files and bytes left
  hemera node undrain node3.example.org    take all of it back into use`,
		ValidArgsFunction: complete.Nodes(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				return setDisksOf(ctx, e, m, args[0], disksChange{"hemera.NodeDrain", hemera.ConfigDrain, []hemera.DiskConfig{hemera.ConfigRW, hemera.ConfigRO}})
			})
		},
	}
}

// nodeUndrainCommand makes `hemera node undrain`, which cancels a drain of a node. Pieces that were moved stay where they
// are.
func nodeUndrainCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "undrain <node>", Short: "Stop the drain of a node, and use its disks again", Args: cobra.ExactArgs(1),
		Long:              `Sets the disks of a node that are being drained, or are empty after it, to rw. Others stay as they are.`,
		Example:           `  hemera node undrain node3.example.org`,
		ValidArgsFunction: complete.Nodes(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				return setDisksOf(ctx, e, m, args[0], disksChange{"hemera.NodeUndrain", hemera.ConfigRW, []hemera.DiskConfig{hemera.ConfigDrain, hemera.ConfigEmpty}})
			})
		},
	}
}

// disksChange sets the configstatus of the disks of a node that now have one of those in from. Other disks keep theirs,
// because an admin chose it.
type disksChange struct {
	op   string // the command, for errors
	to   hemera.DiskConfig
	from []hemera.DiskConfig
}

// setDisksOf changes the configstatus of the disks of a node and prints the number of changed ones. It makes one request
// for each disk and stops at the first error; repeating the command does the rest. It fails with NotFound if the change
// applies to no disk of the node.
func setDisksOf(ctx context.Context, e *cli.Env, m *admin.Client, node string, change disksChange) error {
	n, err := FindNode(ctx, m, node)
	if err != nil {
		return err
	}
	v, err := m.Cluster.View(ctx)
	if err != nil {
		return err
	}
	// already counts the disks that have the new configstatus.
	var disks, already int
	for _, d := range v.Disks {
		switch {
		case d.Node != n.ID:
		case d.Config == change.to || change.to == hemera.ConfigDrain && d.Config == hemera.ConfigEmpty:
			already++
		case slices.Contains(change.from, d.Config):
			if err := m.Cluster.SetDisk(ctx, d.ID, "configstatus", string(change.to)); err != nil {
				return err
			}
			disks++
		}
	}
	if disks+already == 0 {
		return errs.New(errs.NotFound, change.op, "node "+n.Addr, "it has no disk that this concerns").
			WithRemedy("hemera fs ls " + n.Addr + " shows what is wanted of its disks; one that is off is set with hemera fs set")
	}
	e.Say("node %s: %s of %s, %d were so already", n.Addr, "configstatus="+string(change.to), output.Count(int64(disks), "disk"), already)
	return nil
}

// nodeDrain sums up the drains of a node's disks. A node is "drained" if all its disks are empty, and "partly" drained if
// some are and the others are in use. disks are those of one node. A node without disks is nodrain.
func nodeDrain(disks []hemera.Disk, jobs []adminapi.JobStatus) output.Record {
	var files, bytes, done int64
	wanted, empty, stalling := 0, 0, false
	for _, d := range disks {
		state := drainState(d, jobOf(jobs, d.ID))
		if state == "nodrain" {
			continue
		}
		wanted++
		if state == "drained" {
			empty++
		}
		stalling = stalling || state == "stalling"
		if j := jobOf(jobs, d.ID); j != nil && j.Kind == adminapi.JobDrain {
			// Repairs do not count: they do not empty a disk.
			files, bytes, done = files+j.FilesLeft, bytes+j.BytesLeft, done+j.BytesDone
		}
	}
	// The words are those of one disk, and partly.
	status := "draining"
	switch {
	case wanted == 0:
		status = "nodrain"
	case wanted == empty && empty == len(disks):
		status = "drained"
	case wanted == empty:
		status = "partly" // its other disks are in use
	// One stalled disk is enough, because an admin should look at it.
	case stalling:
		status = "stalling"
	}
	// The percentage is 100 if everything was moved, like stat.drainprogress of a disk.
	left := 0.0
	if wanted > 0 {
		left = 100
		if done+bytes > 0 {
			left = cli.Percent(done, done+bytes)
		}
	}
	return output.Record{
		{Key: "drainstatus", Value: status}, {Key: "stat.drainprogress", Value: left}, {Key: "stat.drainfiles", Value: files}, {Key: "stat.drainbytesleft", Value: bytes},
	}
}
