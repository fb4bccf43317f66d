package ns

import (
	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
)

// Command makes `hemera ns`: the manager's namespace.
func Command(e *cli.Env) *cobra.Command {
	c := cli.Noun("ns", "Namespace: counts, rates, latencies; check, backup, restore, rebuild, benchmark, bulk loading",
		nsStatCommand(e), nsCheckCommand(e), nsBackupCommand(e), nsRestoreCommand(e), nsRekeyCommand(e), nsRebuildCommand(e), nsBenchmarkCommand(e), nsLoadCommand(e))
	c.Long = `The namespace is what the manager remembers: the tree of files and directories, and where the pieces
of each file are. The disks have the bytes.`
	c.Example = `  hemera ns stat                  how many files there are, and how fast the manager is
  hemera ns backup /backup        back it up while it works: do this every day
  hemera ns check                 compare all its records with each other`
	return c
}
