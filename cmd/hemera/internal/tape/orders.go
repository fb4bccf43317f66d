package tape

import (
	"context"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/words/adminapi"
)

// An order is done once. Repacks and verifications continue until all files of a tape are done, and have their own
// commands in tasks.go.

// orderCommands makes the commands that order single actions on a tape.
func orderCommands(e *cli.Env) []*cobra.Command {
	one := cobra.ExactArgs(1)
	label := orderCommand(e, adminapi.OrderLabel, "label <vid>", "Write the label of a tape", one)
	label.Long = `Has the next free drive of its library write the label of a tape. New tapes are labelled by
themselves when they are written first. A tape with something on it is refused; --force labels it all
the same, and what was on it is gone.`
	reclaim := orderCommand(e, adminapi.OrderReclaim, "reclaim <vid>", "Have a full tape without files written from its beginning again", one)
	reclaim.Long = `Forgets what a full tape without files of the tree held. From then on nothing on it can be undeleted.
A tape that waits for a scan is refused, and one with files that a scan found and whose removal nobody
knows: "hemera tape undelete --tape VID" brings them back, --lose N gives N of them up.`
	return []*cobra.Command{label, repackCommand(e), reclaim, verifyCommand(e), cancelCommand(e), scanCommand(e), undeleteCommand(e)}
}

// orderCommand makes the command for one order. The manager answers when the action has begun; the rest of the work is in
// queues.
func orderCommand(e *cli.Env, kind adminapi.TapeOrderKind, use, short string, args cobra.PositionalArgs) *cobra.Command {
	o := adminapi.TapeOrder{Kind: kind}
	c := &cobra.Command{
		Use: use, Short: short, Args: args, Example: "  hemera tape " + string(kind) + " V00001 --dry-run",
		RunE: func(c *cobra.Command, args []string) error {
			// Without a subject the order is for all of them.
			if len(args) > 0 {
				o.Subject = args[0]
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				text, err := m.Tape.OrderTape(ctx, "", o)
				// The manager returns a text about the work that it did, or would do.
				if err == nil {
					e.Say("%s", text)
				}
				return err
			})
		},
	}
	// The commands for failed requests are below hemera tape request.
	if kind == adminapi.OrderRetry || kind == adminapi.OrderForget {
		c.Example = "  hemera tape request " + c.Name()
	}
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "say what would be done")
	switch kind {
	case adminapi.OrderLabel:
		c.Flags().BoolVar(&o.Force, "force", false, "whatever is on the tape")
	case adminapi.OrderReclaim:
		c.Flags().Int64Var(&o.Lose, "lose", 0, "lose so many `files` that a scan found and whose removal nobody knows")
	case adminapi.OrderRepack:
		c.Flags().BoolVar(&o.Only, "justmove", false, "write no copies that the files lack by their class")
		c.Flags().BoolFunc("justaddcopies", "move nothing; write the copies that the files lack by their class", func(string) error {
			o.Kind = adminapi.OrderCopies
			return nil
		})
	case adminapi.OrderUndelete:
		c.Flags().BoolVar(&o.Tape, "tape", false, "all files of the tape <vid> whose removal nobody knows")
		c.Flags().StringVar(&o.To, "to", "", "another `path` than the one that the file had")
	}
	return c
}
