package main

import (
	"context"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
)

func nodeDrainCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "drain <node>", Short: "Empty all disks of a node onto the others", Args: cobra.ExactArgs(1),
		Long: `Sets every disk of a node to drain: it stays readable, takes no new files, and all it holds is
moved to other nodes and disks of the same spaces. hemera node ls shows how far that is. When the node
says drained, its disks can be removed (hemera fs rm), and then the node (hemera node rm).`,
		Example: `  hemera node drain node3.example.org
  hemera node status node3.example.org     drainstatus, files and bytes left
  hemera node undrain node3.example.org    take all of it back into use`,
		ValidArgsFunction: completeNodes(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				return e.setDisksOf(ctx, m, "node drain", args[0], hemera.ConfigDrain, hemera.ConfigRW, hemera.ConfigRO)
			})
		},
	}
}

func nodeUndrainCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "undrain <node>", Short: "Stop the drain of a node, and use its disks again", Args: cobra.ExactArgs(1),
		Long:              `Sets the disks of a node that are being drained, or are empty after it, to rw. Others stay as they are.`,
		Example:           `  hemera node undrain node3.example.org`,
		ValidArgsFunction: completeNodes(e),
		RunE: func(c *cobra.Command, args []string) error {
			return e.ask(c, func(ctx context.Context, m *admin.Client) error {
				return e.setDisksOf(ctx, m, "node undrain", args[0], hemera.ConfigRW, hemera.ConfigDrain, hemera.ConfigEmpty)
			})
		},
	}
}

// setDisksOf changes what is wanted of those disks of a node of which one of from is wanted now.
func (e *env) setDisksOf(ctx context.Context, m *admin.Client, op, node string, to hemera.DiskConfig, from ...hemera.DiskConfig) error {
	n, err := findNode(ctx, m, node)
	if err != nil {
		return err
	}
	v, err := m.View(ctx)
	if err != nil {
		return err
	}
	var disks, already int
	for _, d := range v.Disks {
		switch {
		case d.Node != n.ID:
		case d.Config == to || to == hemera.ConfigDrain && d.Config == hemera.ConfigEmpty:
			already++
		case d.Config == from[0] || d.Config == from[1]:
			if err := m.SetDisk(ctx, d.ID, "configstatus", string(to)); err != nil {
				return err
			}
			disks++
		}
	}
	if disks+already == 0 {
		return errs.New(errs.NotFound, op, "node "+n.Addr, "it has no disk that this concerns").
			WithRemedy("hemera fs ls " + n.Addr + " shows what is wanted of its disks; one that is off is set with hemera fs set")
	}
	e.say("node %s: %s of %s, %d were so already", n.Addr, "configstatus="+string(to), output.Count(int64(disks), "disk"), already)
	return nil
}

// nodeDrain sums the drains of a node's disks: nodrain while none is drained, drained when all are, else
// how far the disks that are to be emptied are.
func nodeDrain(disks []hemera.Disk, jobs []hemera.JobStatus) output.Record {
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
		if j := jobOf(jobs, d.ID); j != nil && j.Kind == "drain" {
			files, bytes, done = files+j.FilesLeft, bytes+j.BytesLeft, done+j.BytesDone
		}
	}
	status := "draining"
	switch {
	case wanted == 0:
		status = "nodrain"
	case wanted == empty && empty == len(disks):
		status = "drained"
	case wanted == empty:
		status = "partly" // its other disks are in use
	case stalling:
		status = "stalling"
	}
	left := 0.0
	if wanted > 0 {
		left = 100
		if done+bytes > 0 {
			left = percent(done, done+bytes)
		}
	}
	return output.Record{
		{Key: "drainstatus", Value: status}, {Key: "stat.drainprogress", Value: left}, {Key: "stat.drainfiles", Value: files}, {Key: "stat.drainbytesleft", Value: bytes},
	}
}
