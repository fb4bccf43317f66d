package main

import (
	"github.com/spf13/cobra"
)

// newRootCommand makes the whole tree of commands over an environment.
func newRootCommand(e *env) *cobra.Command {
	root := &cobra.Command{
		Use:   "hemera",
		Short: "Store scientific data, and run the cluster that does",
		Long: `Hemera stores scientific data on many disks and serves it to any XRootD client.

  hemera up                    a whole cluster on this machine, ready in a second or two
  hemera cp data.root :/exp/   copy a file into it
  hemera fs ls                 see its disks

The cluster is found by --url, else by the environment variable HEMERA_URL, else at
` + urlDefault + `. Commands that list things print a table; -m prints one line of
key=value pairs an item, -j one JSON object with a result list.`,
		SilenceErrors: true, SilenceUsage: true,
		Args: cobra.ArbitraryArgs, SuggestionsMinimumDistance: 1,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(c, args[0])
			}
			return c.Help()
		},
		Version: version,
	}
	root.SetVersionTemplate("Hemera {{.Version}}\n")
	root.SetFlagErrorFunc(wrongFlag)
	flags := root.PersistentFlags()
	flags.StringVar(&e.url, "url", "", "the cluster, as root://host:port, or the manager's unix:///path (default $HEMERA_URL or "+urlDefault+")")
	flags.BoolVarP(&e.monitor, "monitor", "m", false, "one line of key=value pairs an item")
	flags.BoolVarP(&e.json, "json", "j", false, "one JSON object with a result list")
	flags.BoolVar(&e.verbose, "verbose", false, "errors with all steps that led to them")
	flags.StringSliceVar(&e.columns.Names, "columns", nil, "only these columns of a table, by title or by key of -m, as in id,path,stat.errmsg")
	root.MarkFlagsMutuallyExclusive("monitor", "json", "columns")
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	root.AddGroup(
		&cobra.Group{ID: "serve", Title: "Serve (hemera node, below, runs a storage node):"},
		&cobra.Group{ID: "files", Title: "Files, from any machine:"},
		&cobra.Group{ID: "cluster", Title: "Cluster, on the manager's machine (file info and quota ls from any):"},
		&cobra.Group{ID: "other", Title: "Other:"},
	)
	root.AddCommand(upCommand(e), managerCommand(e))
	for _, c := range fileCommands(e) {
		c.GroupID = "files"
		root.AddCommand(c)
	}
	for _, c := range clusterCommands(e) {
		c.GroupID = "cluster"
		root.AddCommand(c)
		markAdmins(c)
	}
	root.AddCommand(versionCommand(e))
	root.SetHelpCommandGroupID("other")
	root.SetCompletionCommandGroupID("other")
	hint(root)
	return root
}

func fileCommands(e *env) []*cobra.Command {
	return []*cobra.Command{
		lsCommand(e), cpCommand(e), mkdirCommand(e), rmCommand(e), mvCommand(e), statCommand(e), catCommand(e),
		chmodCommand(e), chownCommand(e), attrCommand(e), findCommand(e), duCommand(e),
	}
}

func clusterCommands(e *env) []*cobra.Command {
	node := nodeCommand(e)
	e.runsNode(node)
	return []*cobra.Command{
		statusCommand(e), whyCommand(e), fsCommand(e), node, spaceCommand(e), groupCommand(e), quotaCommand(e), nsCommand(e), openCommand(e), whoCommand(e),
		fsckCommand(e), fileCommand(e), tokenCommand(e), keyCommand(e), configCommand(e),
	}
}
