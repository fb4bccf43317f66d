package cluster

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
)

// OpenCommand makes `hemera open`: files that are being written.
func OpenCommand(e *cli.Env) *cobra.Command {
	c := cli.Noun("open", "Files that are being written: list, free", openLsCommand(e), openRmCommand(e))
	c.Long = `A file that is being written is held by its writer: others are refused until he has closed
it. A writer that goes away is given up by his node after 2 minutes, and one that never
came to his node after 1 minute.`
	c.Example = `  hemera open ls
  hemera open rm 1p8mg0tbs2qzk`
	return c
}

func openLsCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "ls", Short: "List the files that are being written, oldest first", Args: cobra.NoArgs, Aliases: []string{"list"},
		Long: `Lists writes under way, at most 100,000. "granted": the writer was sent to his node, which was
not asked about the write yet; "open": he has the file open there; "detached": his connection
was lost, and the node keeps what he wrote for 2 minutes. Nodes are asked about writes that
are a minute old, every 30 s: "written" and "idle" are what they said.`,
		Example: `  hemera open ls
  hemera open ls -m`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				writes, err := m.Writes(ctx)
				if err != nil {
					return err
				}
				return e.List(writeColumns, writeRecords(e, writes), "nothing is being written")
			})
		},
	}
}

func openRmCommand(e *cli.Env) *cobra.Command {
	var k cli.Consent
	c := &cobra.Command{
		Use: "rm <id>", Short: "Free a file that is being written, for others to write it", Args: cobra.ExactArgs(1),
		Long: `Frees the name that a write holds, and what it claims of quotas. The writer is not stopped: what
he has written counts if nobody else was faster, else his close fails. The command asks; a script
gives its consent with --yes. Ids are in hemera open ls.`,
		Example: `  hemera open rm 1p8mg0tbs2qzk`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				writes, err := m.Writes(ctx)
				if err != nil {
					return err
				}
				i := slices.IndexFunc(writes, func(w hemera.WriteInfo) bool { return w.ID == args[0] })
				if i < 0 {
					return errs.New(errs.NotFound, "hemera.OpenRm", args[0], "no such write is under way").WithRemedy("see `hemera open ls`")
				}
				w := writes[i]
				stake := []string{fmt.Sprintf("%s is being written by %s@%s (%s); he is not stopped, but others may write it then", w.Path, w.Who.Name, w.Who.Host, w.State)}
				if ok, err := e.Agree(ctx, k, "hemera.OpenRm", stake); !ok {
					return err
				}
				if w, err = m.FreeWrite(ctx, args[0]); err != nil {
					return err
				}
				e.Say("%s is free", w.Path)
				return nil
			})
		},
	}
	k.Flags(c)
	return c
}

func writeRecords(e *cli.Env, writes []hemera.WriteInfo) (out []output.Record) {
	for _, w := range writes {
		written, idle := any(nil), any(nil)
		if !w.Reported.IsZero() {
			written, idle = w.Written, w.Idle.Seconds()
		}
		out = append(out, output.Record{
			{Key: "id", Value: w.ID}, {Key: "user", Value: w.Who.Name}, {Key: "uid", Value: w.Who.UID}, {Key: "host", Value: w.Who.Host},
			{Key: "app", Value: w.Who.App}, {Key: "auth", Value: w.Who.Protocol}, {Key: "state", Value: string(w.State)},
			{Key: "age", Value: cli.Since(e.Now(), w.Since)}, {Key: "idle", Value: idle}, {Key: "announced", Value: w.Announced},
			{Key: "written", Value: written}, {Key: "node", Value: uint32(w.Head)}, {Key: "head", Value: w.HeadAddr},
			{Key: "fxid", Value: w.File.Hex()}, {Key: "path", Value: w.Path},
		})
	}
	return out
}

var writeColumns = []output.Column{
	{Title: "id", Key: "id"},
	{Title: "user", Key: "user"},
	{Title: "host", Key: "host"},
	{Title: "state", Key: "state"},
	{Title: "age", Key: "age", Show: output.Seconds},
	{Title: "idle", Key: "idle", Show: output.Seconds},
	{Title: "announced", Key: "announced", Show: output.Bytes},
	{Title: "written", Key: "written", Show: output.Bytes},
	{Title: "head", Key: "head"},
	{Title: "path", Key: "path"},
}
