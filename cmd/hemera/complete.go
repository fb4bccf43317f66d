package main

import (
	"cmp"
	"context"
	"errors"
	gopath "path"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/app/client"
	"hemera/cmd/hemera/internal/output"
	"hemera/errs"
)

// completionTimeout is how long a shell waits for words from the cluster, unless env.Completion says otherwise.
const completionTimeout = 2 * time.Second

// completionsMax is the most words that a shell gets.
const completionsMax = 500

// errEnough ends a listing after completionsMax words.
var errEnough = errors.New("enough")

// completeView offers words from a view of the cluster. It offers none if the manager does not answer in time.
func completeView(ctx context.Context, e *env, words func(*hemera.View) []cobra.Completion) ([]cobra.Completion, cobra.ShellCompDirective) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(e.Completion, completionTimeout))
	defer cancel()
	m, err := e.manager()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	defer m.Close()
	v, err := m.View(ctx)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return words(v), cobra.ShellCompDirectiveNoFileComp
}

// completeDisks offers the ids of disks, described by their paths, for the first argument.
func completeDisks(e *env) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeView(c.Context(), e, func(v *hemera.View) (out []cobra.Completion) {
			for _, d := range v.Disks {
				n, _ := v.Node(d.Node)
				out = append(out, cobra.CompletionWithDesc(d.ID.String(), n.Addr+" "+d.Path))
			}
			return out
		})
	}
}

// completeNodes offers the addresses of nodes for the first argument.
func completeNodes(e *env) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeView(c.Context(), e, func(v *hemera.View) (out []cobra.Completion) {
			for _, n := range v.Nodes {
				out = append(out, cobra.CompletionWithDesc(n.Addr, "node "+n.ID.String()+", "+string(n.Status)))
			}
			return out
		})
	}
}

// completeSpaces offers the names of spaces for the first argument, and for the flag of fs add.
func completeSpaces(e *env) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 && c.Name() != "add" {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return completeView(c.Context(), e, func(v *hemera.View) (out []cobra.Completion) {
			for _, s := range v.Spaces {
				out = append(out, cobra.CompletionWithDesc(s.Name, s.Policy.Layout.String()))
			}
			return out
		})
	}
}

// completeMatches offers nodes and spaces for the words of fs ls. The ids and paths of disks would be too many.
func completeMatches(e *env) cobra.CompletionFunc {
	return func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return completeView(c.Context(), e, func(v *hemera.View) (out []cobra.Completion) {
			for _, n := range v.Nodes {
				out = append(out, cobra.CompletionWithDesc(n.Addr, "node "+n.ID.String()))
			}
			for _, s := range v.Spaces {
				out = append(out, cobra.CompletionWithDesc(s.Name, "space"))
			}
			return out
		})
	}
}

// completeEndpoints offers paths on the cluster for words with a colon. Other words are left to the shell, which
// knows the local files.
func completeEndpoints(e *env) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if strings.HasPrefix(word, ":") {
			return completePaths(e)(c, args, word)
		}
		return nil, cobra.ShellCompDirectiveDefault
	}
}

// completePaths offers the entries of the directory that the word is in.
func completePaths(e *env) cobra.CompletionFunc {
	const none = cobra.ShellCompDirectiveNoFileComp
	return func(c *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		mark := ""
		if strings.HasPrefix(word, ":") {
			mark, word = ":", word[1:]
		}
		if word == "" {
			word = "/"
		}
		if !strings.HasPrefix(word, "/") {
			return nil, none
		}
		ctx, cancel := context.WithTimeout(c.Context(), cmp.Or(e.Completion, completionTimeout))
		defer cancel()
		dir, prefix := gopath.Split(word)
		var out []cobra.Completion
		_ = listNames(ctx, e, gopath.Clean(dir), func(name string, isDir bool) error {
			if !strings.HasPrefix(name, prefix) || output.Visible(name) != name { // shells print words unchanged
				return nil
			}
			name = mark + dir + name
			if isDir {
				name += "/"
			}
			if out = append(out, name); len(out) == completionsMax {
				return errEnough
			}
			return nil
		})
		return out, none | cobra.ShellCompDirectiveNoSpace
	}
}

// listNames lists a directory by the admin API, or by the data protocol if the user has no right to the first.
func listNames(ctx context.Context, e *env, dir string, visit func(name string, isDir bool) error) error {
	m, err := e.manager()
	if err != nil {
		return err
	}
	defer m.Close()
	err = m.List(ctx, hemera.Identity{}, dir, func(en hemera.Entry) error { return visit(en.Name, en.IsDir()) })
	if err == nil || errors.Is(err, errEnough) || errors.Is(err, errs.NotFound) {
		return err
	}
	u, err := e.remote(dir)
	if err != nil {
		return err
	}
	cl := client.New(client.Options{})
	defer cl.Close()
	return cl.List(ctx, u, func(i client.Info) error { return visit(i.Name, i.IsDir()) })
}
