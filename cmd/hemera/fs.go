package main

import (
	"cmp"
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/doors/admin"
	"hemera/errs"
)

func fsCommand(e *env) *cobra.Command {
	c := noun("fs", "Disks: list, add, change, empty, remove",
		fsLsCommand(e), fsAddCommand(e), fsSetCommand(e), fsRmCommand(e), fsStatusCommand(e), fsFilesCommand(e))
	c.Long = `A disk (EOS: filesystem, fs) is one mounted filesystem of one node. It has a number, its id,
that no other disk ever gets. You set its configstatus; the node reports its health.`
	c.Example = `  hemera fs ls                          all disks
  hemera fs add node1 /data07           take a new one into use
  hemera fs set 4 drain                 empty disk 4 ...
  hemera fs status 4 --watch            ... watch that ...
  hemera fs rm 4                        ... and take it out`
	return c
}

// parseDisk reads a disk's id from the command line.
func parseDisk(s string) (hemera.DiskID, error) {
	id, err := strconv.ParseUint(s, 10, 32)
	if err != nil || id == 0 {
		return 0, &usageError{errs.New(errs.Invalid, "read disk id", s, "want a number from 1").
			WithRemedy("hemera fs ls shows the ids")}
	}
	return hemera.DiskID(id), nil
}

// completeDisks offers the cluster's disks, with their paths as descriptions, for the first argument.
func (e *env) completeDisks(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return e.completeView(c.Context(), func(v *hemera.View) (out []cobra.Completion) {
		for _, d := range v.Disks {
			n, _ := v.Node(d.Node)
			out = append(out, cobra.CompletionWithDesc(d.ID.String(), n.Addr+" "+d.Path))
		}
		return out
	})
}

// completeView offers words from the cluster's view; none when it cannot be reached in time.
func (e *env) completeView(ctx context.Context, words func(*hemera.View) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(e.Completion, completionTimeout))
	defer cancel()
	m, err := e.manager()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer m.Close()
	v, err := m.View(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return words(v), cobra.ShellCompDirectiveNoFileComp
}

// ask runs f with a client of the manager.
func (e *env) ask(c *cobra.Command, f func(context.Context, *admin.Client) error) error {
	m, err := e.manager()
	if err != nil {
		return err
	}
	defer m.Close()
	return f(c.Context(), m)
}
