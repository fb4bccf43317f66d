package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/cmd/hemera/internal/storage"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// WhyCommand makes `hemera why`: explanations of a file, disk, node or job. The manager, which has all information, makes
// the explanation; this command only identifies the subject.
func WhyCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "why <path> | disk <id> | node <node> | jobs", Short: "Explain why a file, disk, node or job is as it is", Args: cobra.RangeArgs(1, 2),
		Long: `Explains the state of something and what it waits for, with a remedy where there is one:

  a file       which pieces can be read where, what it lacks and whether that can be made,
               who has it open or locked, quotas that are used up. For a path that does
               not exist: what a new file would get, and exit code 1
  disk <id>    its state and the cause, its drain or repair and what holds that up, who
               uses it; the id alone means the same
  node <node>  its state, disks with something wrong, open files
  jobs         all drains and repairs that are not done

Any user may ask about files and directories that are readable for that user, from any machine. All
else is for admins: on the manager's machine, as root or as the user the manager runs as.`,
		Example: `  hemera why /exp/data.root
  hemera why disk 4
  hemera why jobs -j`,
		ValidArgsFunction: func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
			switch {
			case len(args) == 0:
				words, rest := complete.Paths(e)(c, args, word)
				return append([]cobra.Completion{"disk", "node", "jobs"}, words...), rest
			case args[0] == "disk":
				return complete.Disks(e)(c, nil, word)
			case args[0] == "node":
				return complete.Nodes(e)(c, nil, word)
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(c *cobra.Command, args []string) error {
			kind, ref, err := whySubject(e, args)
			if err != nil {
				return err
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if kind == adminapi.WhyNode {
					// The manager takes ids only.
					n, err := storage.FindNode(ctx, m, ref)
					if err != nil {
						return err
					}
					ref = n.ID.String()
				}
				x, err := m.Status.Why(ctx, hemera.Identity{}, kind, ref)
				if err != nil {
					return err
				}
				if err := printWhy(e, x); err != nil || !x.Missing {
					return err
				}
				// A script gets the exit code, and people the answer for a new file.
				return cli.NewVerdict(cli.ExitWarning)
			})
		},
	}
}

// whySubject returns the subject of the explanation: the kind and a reference for the manager. A number is a disk; a path
// begins with a slash or a colon. It does not check whether the subject exists, because the manager explains that too.
func whySubject(e *cli.Env, args []string) (kind, ref string, err error) {
	switch {
	case len(args) == 1 && (args[0] == "jobs" || args[0] == "job"): // of all disks
		return adminapi.WhyJobs, "", nil
	case len(args) == 2 && args[0] == "disk":
		id, err := storage.ParseDisk(args[1])
		return adminapi.WhyDisk, id.String(), err
	// A node may be named by address, which is looked up later.
	case len(args) == 2 && args[0] == "node":
		return adminapi.WhyNode, args[1], nil
	case len(args) == 2 && args[0] == "job": // of a disk
		id, err := storage.ParseDisk(args[1])
		return adminapi.WhyDisk, id.String(), err
	case len(args) == 1 && strings.Trim(args[0], "0123456789") == "" && args[0] != "":
		id, err := storage.ParseDisk(args[0])
		return adminapi.WhyDisk, id.String(), err
	case len(args) == 1 && args[0] != "disk" && args[0] != "node":
		// fid:, fxid: and so on name a file by its id.
		if strings.Contains(args[0], "id:") && !strings.HasPrefix(args[0], "/") {
			return adminapi.WhyFile, args[0], nil
		}
		path, err := e.OnManager(args[0])
		return adminapi.WhyFile, path, err
	}
	return "", "", cli.Usage(errs.New(errs.Invalid, "hemera.Why", strings.Join(args, " "), "it does not say what to explain").
		WithRemedy("hemera why <path>, hemera why disk <id>, hemera why node <node>, hemera why jobs"))
}

// printWhy prints an explanation: the state, and each reason with its remedy.
// Texts may contain names that users chose, so they are made visible.
func printWhy(e *cli.Env, x adminapi.Explanation) error {
	if e.ForPrograms() {
		records := []output.Record{{{Key: "type", Value: "subject"}, {Key: "subject", Value: x.Subject}, {Key: "state", Value: x.State}}}
		for _, r := range x.Reasons {
			records = append(records, output.Record{{Key: "type", Value: "reason"}, {Key: "about", Value: r.About}, {Key: "text", Value: r.Text}, {Key: "remedy", Value: r.Remedy}})
		}
		return e.Printer().List(nil, records)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", e.Visible(x.Subject), e.Visible(x.State))
	for _, r := range x.Reasons {
		fmt.Fprintf(&b, "  %s: %s\n", r.About, e.Visible(r.Text))
		if r.Remedy != "" {
			fmt.Fprintf(&b, "      what to do: %s\n", e.Visible(r.Remedy))
		}
	}
	_, err := fmt.Fprint(e.Out, b.String())
	return err
}
