package complete

import "github.com/spf13/cobra"

// Layouts offers common layouts with the losses that they survive: the table in docs/operations.md, which a test compares
// with the codes. Other numbers are allowed too. It asks no server: the command itself reports layouts that the disks of
// a space do not allow.
func Layouts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{
		cobra.CompletionWithDesc("plain", "one copy"),                                    // a lost disk loses files
		cobra.CompletionWithDesc("replica:2", "any 1 disk may be lost, twice the bytes"), // what a new cluster has
		cobra.CompletionWithDesc("replica:3", "any 2 disks, 3 times the bytes"),
		cobra.CompletionWithDesc("rs:4+2", "any 2 disks, 1.5 times the bytes"), // EOS's raid6:6
		cobra.CompletionWithDesc("rs:10+4", "any 4 disks, 1.4 times the bytes"),
		cobra.CompletionWithDesc("lrc:12+2+2", "any 3 disks, 1.33 times the bytes, and repairs read half as much"), // half of rs:12+4
		cobra.CompletionWithDesc("stripe:4", "no disk may be lost, large files are fast"),                          // for scratch data
	}, cobra.ShellCompDirectiveNoFileComp
}
