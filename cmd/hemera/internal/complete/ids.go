package complete

import (
	"context"
	"strconv"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/hemera"
)

// ids offers the ids of one kind for the first argument, because every command takes one.
func ids(e *cli.Env, list func(context.Context, *admin.Client) []cobra.Completion) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return fromManager(c.Context(), e, list)
	}
}

// Conversions offers the ids of requests to convert that have not ended, described by path and form.
func Conversions(e *cli.Env) cobra.CompletionFunc {
	return ids(e, func(ctx context.Context, m *admin.Client) (words []cobra.Completion) {
		// They fit into one answer: there are a thousand at most.
		list, _ := m.Conversions.Conversions(ctx)
		for _, s := range list {
			// An ended one cannot be stopped.
			if s.Ended.IsZero() {
				words = append(words, cobra.CompletionWithDesc(strconv.FormatUint(s.ID, 10), output.Visible(s.Path)+" "+s.Form.String()))
			}
		}
		return words
	})
}

// Writes offers the ids of current writes, described by path and user.
func Writes(e *cli.Env) cobra.CompletionFunc {
	return ids(e, func(ctx context.Context, m *admin.Client) (words []cobra.Completion) {
		list, _ := m.Writes.Writes(ctx, hemera.Identity{})
		for _, w := range list[:min(len(list), wordsMax)] {
			words = append(words, cobra.CompletionWithDesc(w.ID, output.Visible(w.Path)+" by "+output.Visible(w.Who.Name)))
		}
		return words
	})
}

// Tokens offers the ids of join tokens, described by their purpose.
func Tokens(e *cli.Env) cobra.CompletionFunc {
	return ids(e, func(ctx context.Context, m *admin.Client) (words []cobra.Completion) {
		list, _ := m.Trust.Tokens(ctx)
		for _, t := range list {
			words = append(words, cobra.CompletionWithDesc(t.ID, "admits "+output.Count(int64(t.Left), "node")+" more, until "+cli.Stamp(t.Expires)))
		}
		return words
	})
}

// Recycled offers the paths of entries in recycle bins, for every argument. Paths that could control a terminal are left
// out.
func Recycled(e *cli.Env) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return fromManager(c.Context(), e, func(ctx context.Context, m *admin.Client) (words []cobra.Completion) {
			seen := map[string]bool{} // a path may have been removed more than once
			_ = m.Recycle.ListRecycled(ctx, hemera.Identity{}, adminapi.RecycleQuery{All: true}, func(r adminapi.Recycled) error {
				if output.Visible(r.Path) != r.Path || seen[r.Path] {
					return nil
				}
				seen[r.Path] = true
				// More words are useless at a prompt.
				if words = append(words, r.Path); len(words) == wordsMax {
					return errEnough
				}
				return nil
			})
			return words
		})
	}
}

// Checksums offers the kinds of checksums.
func Checksums(*cobra.Command, []string, string) (words []cobra.Completion, _ cobra.ShellCompDirective) {
	for _, k := range hemera.ChecksumKinds() {
		words = append(words, k.String())
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// Flag converts a completion of first arguments to one of a flag's values.
func Flag(first cobra.CompletionFunc) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return first(c, nil, word)
	}
}
