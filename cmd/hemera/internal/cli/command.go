package cli

import (
	"github.com/spf13/cobra"
)

// Noun makes a command that only has sub-commands. Without a sub-command it prints its help. With an unknown one it
// prints an error and not pages of help.
func Noun(use, short string, verbs ...*cobra.Command) *cobra.Command {
	// Distance 1: only words with one different letter are suggested.
	c := &cobra.Command{Use: use, Short: short, Args: cobra.ArbitraryArgs, SuggestionsMinimumDistance: 1}
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) > 0 {
			return UnknownCommand(c, args[0])
		}
		return c.Help()
	}
	c.AddCommand(verbs...)
	return c
}

// HumanFlag adds the flag -h of ls and du. The short form of --help is not available then: cobra adds it only if the
// command has no flag help already.
func HumanFlag(c *cobra.Command, human *bool, byDefault bool) {
	c.Flags().Bool("help", false, "help for "+c.Name())
	c.Flags().BoolVarP(human, "human", "h", byDefault, "sizes with units")
}

// RecursiveFlag adds the flag -r of EOS's commands, and a hidden -R of the system's commands: ls and chmod have -R. Both
// mean the same here.
func RecursiveFlag(c *cobra.Command, recursive *bool, help string) {
	c.Flags().BoolVarP(recursive, "recursive", "r", false, help)
	c.Flags().BoolVarP(recursive, "recurse", "R", false, help)
	_ = c.Flags().MarkHidden("recurse")
}
