// Package tape is the command `hemera tape`.
package tape

import (
	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
)

// Command makes `hemera tape`.
func Command(*cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "tape", Short: "Tape: libraries, drives, tapes and what they do",
		Long:    `Tapes take files that are archived, and give them back when they are recalled.`,
		Example: `  hemera tape serve --help`,
	}
}
