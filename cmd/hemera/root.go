package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/bench"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/cluster"
	"hemera/cmd/hemera/internal/convert"
	"hemera/cmd/hemera/internal/doctor"
	"hemera/cmd/hemera/internal/files"
	"hemera/cmd/hemera/internal/ns"
	"hemera/cmd/hemera/internal/piece"
	"hemera/cmd/hemera/internal/recycle"
	"hemera/cmd/hemera/internal/serve"
	"hemera/cmd/hemera/internal/storage"
	"hemera/cmd/hemera/internal/tape"
)

// newRootCommand makes the tree of commands for an environment. It is called for every command line, so that no flag
// keeps a value. Groups decide where a command stands in hemera --help.
func newRootCommand(e *cli.Env) *cobra.Command {
	showVersion := false
	root := &cobra.Command{
		Use:   "hemera",
		Short: "Store scientific data, and run the cluster that does",
		Long: `Hemera stores scientific data on many disks and serves it to any XRootD client.

  hemera up                    a whole cluster on this machine, ready in a second or two
  hemera cp data.root :/exp/   copy a file into it
  hemera fs ls                 see its disks

The cluster is found by --url, else by the environment variable HEMERA_URL, else at
` + cli.URLDefault + `. Commands that list things print a table; -m prints one line of
key=value pairs for each item, -j one JSON object with a result list.`,
		// cli.Run prints errors; a page of usage would hide them.
		SilenceErrors: true, SilenceUsage: true,
		// Any arguments are allowed: with NoArgs, cobra would print its own error for an unknown command, without the
		// list of commands.
		Args: cobra.ArbitraryArgs, SuggestionsMinimumDistance: 1,
		RunE: func(c *cobra.Command, args []string) error {
			switch {
			case showVersion:
				_, err := fmt.Fprintln(e.Out, "Hemera "+version)
				return err
			case len(args) > 0:
				return cli.UnknownCommand(c, args[0])
			}
			return c.Help()
		},
	}
	// hemera --version is for scripts; hemera version shows more. cobra's own flag would need a template for this line,
	// and with text/template the linker keeps every exported method of the program.
	root.Flags().BoolVarP(&showVersion, "version", "v", false, "version for hemera")
	// Connect adds the flags and streams that every command has.
	e.Connect(root)
	root.AddGroup(
		&cobra.Group{ID: "serve", Title: "Serve (hemera node, below, runs a storage node):"},
		&cobra.Group{ID: "files", Title: "Files, from any machine:"},
		&cobra.Group{ID: "cluster", Title: "Cluster (most are for admins, on the manager's machine):"},
		&cobra.Group{ID: "other", Title: "Other:"},
	)
	// The order here does not matter: cobra sorts commands within a group.
	root.AddCommand(serve.UpCommand(e), serve.ManagerCommand(e))
	for _, c := range fileCommands(e) {
		c.GroupID = "files"
		root.AddCommand(c)
	}
	for _, c := range clusterCommands(e) {
		c.GroupID = "cluster"
		root.AddCommand(c)
		markAdmins(c)
	}
	root.AddCommand(versionCommand(e), cluster.WhoamiCommand(e), conventions())
	// cobra makes these two commands by itself.
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	// All commands exist by now, so every path of the table is found.
	hint(root)
	return root
}

// fileCommands makes the commands of users, which work from any machine. Most work with any XRootD server.
func fileCommands(e *cli.Env) []*cobra.Command {
	return []*cobra.Command{
		files.LsCommand(e), files.CpCommand(e), files.MkdirCommand(e), files.RmCommand(e), files.MvCommand(e), files.StatCommand(e), files.CatCommand(e),
		files.ChmodCommand(e), files.ChownCommand(e), files.AttrCommand(e), files.FindCommand(e), files.DuCommand(e), recycle.Command(e),
	}
}

// clusterCommands makes the commands about a cluster. Most are for admins; see markAdmins. hemera node and hemera tape
// also run a server.
func clusterCommands(e *cli.Env) []*cobra.Command {
	// The nouns are for admins; the commands themselves run servers.
	node := storage.NodeCommand(e)
	serve.RunsNode(e, node)
	// Tape also has the server's full command below it, for sites with a real library.
	tapes := tape.Command(e, serve.TapeServeCommand(e))
	serve.RunsTape(e, tapes)
	return []*cobra.Command{
		cluster.StatusCommand(e), cluster.WhyCommand(e), storage.FsCommand(e), node, cluster.NetCommand(e), storage.SpaceCommand(e), cluster.QuotaCommand(e), convert.Command(e), ns.Command(e), cluster.OpenCommand(e), cluster.WhoCommand(e),
		cluster.FsckCommand(e), files.FileCommand(e), storage.TokenCommand(e), cluster.KeyCommand(e), cluster.ConfigCommand(e),
		piece.Command(e), bench.Command(e), doctor.Command(e), tapes,
	}
}
