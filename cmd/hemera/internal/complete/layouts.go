package complete

import "github.com/spf13/cobra"

// Layouts offers layouts that clusters use, with what they survive. Any other numbers do too.
func Layouts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{
		cobra.CompletionWithDesc("plain", "one copy"),
		cobra.CompletionWithDesc("replica:2", "any 1 disk may be lost, twice the bytes"),
		cobra.CompletionWithDesc("replica:3", "any 2 disks, 3 times the bytes"),
		cobra.CompletionWithDesc("rs:4+2", "any 2 disks, 1.5 times the bytes"),
		cobra.CompletionWithDesc("rs:10+4", "any 4 disks, 1.4 times the bytes"),
		cobra.CompletionWithDesc("lrc:12+2+2", "any 3 disks, 1.33 times the bytes, and repairs read half as much"),
		cobra.CompletionWithDesc("stripe:4", "no disk may be lost, large files are fast"),
	}, cobra.ShellCompDirectiveNoFileComp
}
