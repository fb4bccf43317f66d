package complete

import "github.com/spf13/cobra"

// Layouts offers layouts that clusters use, with what they survive.
// They are the words of a table in docs/operations.md, which a test compares with the codes. Any other numbers do too, so this is
// help for people that begin and no list of what is allowed.
// It asks no server: what a space's disks can hold is said when the command runs.
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
