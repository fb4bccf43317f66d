package main

import (
	"context"
	"errors"
	gopath "path"
	"strings"

	"github.com/spf13/cobra"

	"hemera"
)

// remotePath is the path a person means on the cluster: "exp/a", "/exp/a", ":/exp/a" and
// "root://host//exp/a" are all "/exp/a". Commands that also take local files use [splitArg].
func remotePath(s string) string {
	if _, rest, ok := strings.Cut(s, "://"); ok {
		_, s, _ = strings.Cut(rest, "/")
	}
	return gopath.Clean("/" + strings.TrimPrefix(s, ":"))
}

// enough ends a listing early.
var enough = errors.New("enough")

// completionsMax bounds what a shell is offered.
const completionsMax = 500

// completePaths offers the entries of the directory a word is in.
func (e *env) completePaths(c *cobra.Command, _ []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
	none := cobra.ShellCompDirectiveNoFileComp
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
	ctx, cancel := context.WithTimeout(c.Context(), completionTimeout)
	defer cancel()
	m, err := e.manager()
	if err != nil {
		return nil, none
	}
	defer m.Close()
	dir, prefix := gopath.Split(word)
	var out []cobra.Completion
	_ = m.List(ctx, hemera.Identity{}, gopath.Clean(dir), func(en hemera.Entry) error {
		if !strings.HasPrefix(en.Name, prefix) {
			return nil
		}
		name := mark + dir + en.Name
		if en.IsDir() {
			name += "/"
		}
		if out = append(out, name); len(out) == completionsMax {
			return enough
		}
		return nil
	})
	return out, none | cobra.ShellCompDirectiveNoSpace
}
