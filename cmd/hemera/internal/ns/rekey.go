package ns

import (
	"fmt"
	"log/slog"
	"path/filepath"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/process/backup"
)

// nsRekeyCommand makes `hemera ns rekey`. It needs no consent, because it never replaces an existing authority.
func nsRekeyCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "rekey <dir>", Short: "Begin a new certificate authority for a manager that lost its own", Args: cobra.ExactArgs(1),
		Long: `Makes a new authority.pem in the state directory of a manager that does not run (its
--data, or the directory of hemera up). Use it if that file is lost and in no backup: a manager
does not start without the authority that its nodes know. It never makes a new one by itself,
because that locks every node out. The command does not touch an authority.pem that exists.

Afterwards each node joins again: remove node.pem from its --data, and start it with
--join and a new token. It gets a new id and keeps its disks. Nodes of hemera up need nothing.`,
		Example: `  hemera ns rekey /var/lib/hemera
  hemera manager --data /var/lib/hemera
  ssh node1 rm /var/lib/hemera/node.pem
  ssh node1 hemera node --listen 10.1.0.2 --join "$(hemera token create)"`,
		RunE: func(c *cobra.Command, args []string) error {
			file, err := backup.Rekey(c.Context(), args[0], slog.New(slog.DiscardHandler))
			if err != nil {
				return err
			}
			if file, err = filepath.Abs(file); err != nil {
				return err
			}
			s := e.Stream(func(output.Record) string {
				return fmt.Sprintf("%s is a new authority; start the manager, and let every node join again: without its node.pem, with --join and a new token", file)
			})
			if err := s.Add(output.Record{{Key: "rekey.file", Value: file}}); err != nil {
				return err
			}
			return s.Close()
		},
	}
}
