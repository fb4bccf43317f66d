package complete

import (
	"cmp"
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
)

// Conversions offers the ids of requests to convert that have not ended, described by path and form, for the first argument.
func Conversions(e *cli.Env) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
		// Every command takes one request.
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		ctx, cancel := context.WithTimeout(c.Context(), cmp.Or(e.Completion, timeout))
		// The user waits at the prompt: rather no words than late ones.
		defer cancel()
		// No error is shown: the shell would print it into the user's command line.
		m, err := e.Manager()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		// The process ends soon anyway; completion leaves nothing open all the same.
		defer m.Close()
		// All of them fit into one answer: there are a thousand at most.
		list, err := m.Conversions(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		for _, s := range list {
			// One that has ended cannot be stopped.
			if s.Ended.IsZero() {
				words = append(words, cobra.CompletionWithDesc(strconv.FormatUint(s.ID, 10), s.Path+" "+s.Form.String()))
			}
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}
