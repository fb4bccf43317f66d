package complete

import (
	"cmp"
	"context"
	"errors"
	gopath "path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// timeout bounds the wait of a shell for words from the cluster, unless Env.Completion says otherwise. People wait about
// 2 s at a prompt; a manager answers within milliseconds.
const timeout = 2 * time.Second

// wordsMax bounds the words for a shell. A directory may have a million names, but a few hundred are enough at a prompt.
const wordsMax = 500

// errEnough ends a listing after wordsMax words.
var errEnough = errors.New("enough")

// fromView offers words from a view of the cluster. It offers none if the manager does not answer in time.
func fromView(ctx context.Context, e *cli.Env, words func(*hemera.View) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	return fromManager(ctx, e, func(ctx context.Context, m *admin.Client) []cobra.Completion {
		v, err := m.Cluster.View(ctx)
		if err != nil {
			return nil
		}
		return words(v)
	})
}

// fromManager offers words from an answer of a manager. It offers none if the manager does not answer in time.
func fromManager(ctx context.Context, e *cli.Env, words func(context.Context, *admin.Client) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	// The user is waiting at the shell's prompt: no words are better than late ones.
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(e.Completion, timeout))
	defer cancel()
	// Errors are not shown: the shell would print them into the user's command line.
	m, err := e.Manager()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer m.Close()
	return words(ctx, m), cobra.ShellCompDirectiveNoFileComp
}

// Disks offers the ids of disks, described by node and path, for the first argument only, because every command takes one
// disk.
func Disks(e *cli.Env) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return fromView(c.Context(), e, func(v *hemera.View) (out []cobra.Completion) {
			for _, d := range v.Disks {
				// The description stands beside the word in shells that show it.
				n, _ := v.Node(d.Node)
				out = append(out, cobra.CompletionWithDesc(d.ID.String(), n.Addr+" "+d.Path))
			}
			return out
		})
	}
}

// Nodes offers the addresses of nodes for the first argument.
func Nodes(e *cli.Env) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return fromView(c.Context(), e, func(v *hemera.View) (out []cobra.Completion) {
			for _, n := range v.Nodes {
				out = append(out, cobra.CompletionWithDesc(n.Addr, "node "+n.ID.String()+", "+string(n.Status)))
			}
			return out
		})
	}
}

// Spaces offers the names of spaces for the first argument, and for the flag of fs add, which may follow two arguments.
func Spaces(e *cli.Env) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && c.Name() != "add" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return fromView(c.Context(), e, func(v *hemera.View) (out []cobra.Completion) {
			for _, s := range v.Spaces {
				out = append(out, cobra.CompletionWithDesc(string(s.Name), s.Policy.Layout.String()))
			}
			return out
		})
	}
}

// Matches offers nodes and spaces for the words of fs ls, for every argument. The ids and paths of disks would be too
// many.
func Matches(e *cli.Env) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return fromView(c.Context(), e, func(v *hemera.View) (out []cobra.Completion) {
			for _, n := range v.Nodes {
				out = append(out, cobra.CompletionWithDesc(n.Addr, "node "+n.ID.String()))
			}
			for _, s := range v.Spaces {
				out = append(out, cobra.CompletionWithDesc(string(s.Name), "space"))
			}
			return out
		})
	}
}

// Endpoints offers paths on the cluster for words that begin with a colon. The shell completes other words, which are
// local files. cp takes both kinds of path.
func Endpoints(e *cli.Env) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if strings.HasPrefix(word, ":") {
			return Paths(e)(c, args, word)
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// Paths offers the entries of the word's directory. A word that begins with a colon keeps it. Names that could control a
// terminal are left out.
func Paths(e *cli.Env) cobra.CompletionFunc {
	const none = cobra.ShellCompDirectiveNoFileComp
	return func(c *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		mark := ""
		if strings.HasPrefix(word, ":") {
			mark, word = ":", word[1:]
		}
		if word == "" {
			word = "/"
		}
		// URLs of other servers are not completed, because that would connect to them.
		if !strings.HasPrefix(word, "/") {
			return nil, none
		}
		ctx, cancel := context.WithTimeout(c.Context(), cmp.Or(e.Completion, timeout))
		defer cancel()
		// The directory is listed completely, up to wordsMax names; servers cannot list by prefix.
		dir, prefix := gopath.Split(word)
		var out []cobra.Completion
		// An error ends the list early: the names found before it are still offered.
		_ = listNames(ctx, e, gopath.Clean(dir), func(name string, isDir bool) error {
			if !strings.HasPrefix(name, prefix) || output.Visible(name) != name { // shells print words unchanged
				return nil
			}
			// The whole word, with the beginning as the user wrote it.
			name = mark + dir + name
			if isDir {
				name += "/"
			}
			// Without a match the word stays as typed.
			if out = append(out, name); len(out) == wordsMax {
				return errEnough
			}
			return nil
		})
		return out, none | cobra.ShellCompDirectiveNoSpace
	}
}

// listNames lists a directory by the admin API, or by the data protocol if the user may not use the first. visit returns
// errEnough to end the listing; that error is returned unchanged. After NotFound it does not try the second way.
func listNames(ctx context.Context, e *cli.Env, dir string, visit func(name string, isDir bool) error) error {
	m, err := e.Manager()
	if err != nil {
		return err
	}
	defer m.Close()
	// The empty Identity stands for the caller, as the manager authenticates it.
	err = m.Names.List(ctx, hemera.Identity{}, dir, func(en hemera.Entry) error { return visit(en.Name, en.IsDir()) })
	if err == nil || errors.Is(err, errEnough) || errors.Is(err, errs.NotFound) {
		return err
	}
	// Denied, or no admin API there: the data protocol may still list.
	u, err := e.Remote(dir)
	if err != nil {
		return err
	}
	cl := xrootd.New(xrootd.Options{})
	defer cl.Close()
	return cl.List(ctx, u, func(i xrootd.Info) error { return visit(i.Name, i.IsDir()) })
}
