package tape

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
)

// status, why and top show the manager's knowledge at one moment. The manager gives the reasons of its decisions; nothing
// is computed here.

// statusCommand makes `hemera tape status`, which lists only problems that need a person. A site looks at it once a day.
// Problems that end by themselves are left out, and on a good day the list is empty.
func statusCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "status", Short: "Show what needs a person, with the command to type", Args: cobra.NoArgs, Annotations: cli.GivesVerdict(),
		Long: `Lists what does not mend itself: disabled tapes with the reason, requests that failed, drives that are
down by themselves, servers that do not report, a namespace that went back. An empty list is a
good day. The exit code is 0 then, 1 when something is listed, 3 when it is not known.`,
		Example: "  hemera tape status",
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				p, err := m.Tape.TapePicture(ctx)
				if err != nil {
					return err
				}
				// The problem is in the list until all disks were searched.
				if back := p.WentBack; !back.Merged.IsZero() && !e.ForPrograms() {
					fmt.Fprintf(e.Err, "hemera: %s\n  %s\n", back.Text(), back.Remedy())
				}
				// The order is by subject, so that a problem stays in its place.
				var records []output.Record
				for _, a := range p.Attention {
					records = append(records, output.Record{{Key: "subject", Value: a.Subject}, {Key: "what", Value: a.What}, {Key: "command", Value: a.Command}})
				}
				columns := []output.Column{{Title: "what", Key: "subject"}, {Title: "is wrong", Key: "what"}, {Title: "command", Key: "command"}}
				if err := e.List(columns, records, fmt.Sprintf("nothing needs you: %s, %s", output.Count(int64(len(p.Drives)), "drive"), output.Count(int64(len(p.Queues)), "queue"))); err != nil || len(records) == 0 {
					return err
				}
				return cli.NewVerdict(cli.ExitWarning)
			})
		},
	}
}

// whyCommand makes `hemera tape why`. A text that begins with a slash is a path; other texts are names of drives, pools
// or tapes.
func whyCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "why <path|vid|drive|pool>", Short: "Explain what something waits for", Args: cobra.ExactArgs(1),
		Long: `Says of a file, a tape, a drive or a pool what it does or waits for: the rule that keeps it, as the
manager decides by it.`,
		Example: `  hemera tape why /exp/run1/data.root
  hemera tape why tape-d1`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				lines, err := m.Tape.ExplainTape(ctx, args[0])
				if err != nil {
					return err
				}
				var records []output.Record
				for _, l := range lines {
					records = append(records, output.Record{{Key: "why", Value: l}})
				}
				return e.List([]output.Column{{Title: "why", Key: "why"}}, records, "")
			})
		},
	}
}

// whyOf makes the command why below a noun, where users look for it.
func whyOf(e *cli.Env, noun string) *cobra.Command {
	c := whyCommand(e)
	name := map[string]string{"request": "path", "repack": "vid", "tape": "vid"}[noun]
	if name == "" {
		name = "name"
	}
	c.Use, c.Example = "why <"+name+">", "  hemera tape "+noun+" why "+strings.ToUpper(name)
	return c
}

// topCommand makes `hemera tape top`, which draws a picture again and again. Without a terminal it prints one picture: a
// script that wants more calls it again.
func topCommand(e *cli.Env) *cobra.Command {
	every := 2 * time.Second
	c := &cobra.Command{
		Use: "top", Short: "Watch drives and queues", Args: cobra.NoArgs,
		Long: `Shows drives, queues and what needs a person, and draws it again every two seconds until Ctrl-C. Where
the output is no terminal it is printed once.`,
		Example: "  hemera tape top",
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error { return top(ctx, e, m, every) })
		},
	}
	c.Flags().DurationVar(&every, "every", every, "`time` between two pictures")
	return c
}

// top draws until the context ends.
func top(ctx context.Context, e *cli.Env, m *admin.Client, every time.Duration) error {
	for {
		// A restart of the manager ends the command.
		p, err := m.Tape.TapePicture(ctx)
		if err != nil {
			return err
		}
		if e.Terminal > 0 {
			fmt.Fprint(e.Out, "\033[H\033[2J") // home, and clear
		}
		if err := draw(e, p); err != nil || e.Terminal == 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return nil // Ctrl-C is the usual end
		case <-time.After(every):
		}
	}
}

// draw prints one picture. It uses the tables of drive ls and queue ls, so that users learn one form only.
func draw(e *cli.Env, p adminapi.TapePicture) error {
	now := time.Now()
	busy := 0 // drives with a mount
	for _, d := range p.Drives {
		if d.Mount != 0 {
			busy++
		}
	}
	fmt.Fprintf(e.Out, "%s  %d of %s at work, %s\n\n", now.Format(time.TimeOnly), busy, output.Count(int64(len(p.Drives)), "drive"), output.Count(int64(len(p.Queues)), "queue"))
	if err := e.List(driveColumns(), driveRecords(p, now), "no drive"); err != nil {
		return err
	}
	fmt.Fprintln(e.Out)
	if err := e.List(queueColumns(), queueRecords(p, now), "nothing waits"); err != nil {
		return err
	}
	// These lines are below the tables, where the reader ends.
	var lines []string
	for _, a := range p.Attention {
		lines = append(lines, a.Subject+" "+a.What+": "+a.Command)
	}
	if len(lines) > 0 {
		fmt.Fprintln(e.Out, "\n"+strings.Join(lines, "\n"))
	}
	return nil
}
