package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
)

// TestEveryCommandIsDocumented holds docs/cli.md against the tree of commands.
func TestEveryCommandIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		for _, below := range c.Commands() {
			walk(below)
		}
		if c.Runnable() && c.HasParent() && !strings.Contains(string(text), c.CommandPath()) {
			t.Errorf("docs/cli.md has no example of %q", c.CommandPath())
		}
	}
	root := newRootCommand(&cli.Env{})
	walk(root)
	if len(root.Commands()) < 10 {
		t.Fatalf("only %d commands were found", len(root.Commands()))
	}
}

// TestEveryCommandTeachesByExample: a command's help shows at least one command line of its own.
func TestEveryCommandTeachesByExample(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" || c.Name() == "completion" { // cobra's
			return
		}
		if help := c.Long + "\n" + c.Example; !strings.Contains(help, "  "+c.CommandPath()) {
			t.Errorf("%s --help shows no example", c.CommandPath())
		}
		for _, below := range c.Commands() {
			walk(below)
		}
	}
	walk(newRootCommand(&cli.Env{}))
}
