package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
)

// TestHelpSaysWhereCommandsWork: the help marks exactly the commands that users of other machines may not run.
func TestHelpSaysWhereCommandsWork(t *testing.T) {
	root := newRootCommand(&cli.Env{Console: cli.Console{Getenv: func(string) string { return "" }}})
	marked := func(path ...string) bool {
		t.Helper()
		c, _, err := root.Find(path)
		if err != nil || c.CommandPath() != "hemera "+strings.Join(path, " ") {
			t.Fatalf("%v: %v", path, err)
		}
		return strings.HasSuffix(c.Long, adminsNote)
	}
	for _, path := range []string{"status", "who", "fs ls", "node drain", "file check", "quota set", "token create", "ns stat", "open rm", "config show"} {
		if !marked(strings.Fields(path)...) {
			t.Errorf("the help of %s does not say that it is for admins", path)
		}
	}
	for _, path := range append([]string{"find", "du", "attr set", "chown", "cp", "ls", "version", "up", "manager"}, everywhere...) {
		if marked(strings.Fields(path)...) {
			t.Errorf("the help of %s says that it is for admins", path)
		}
	}
	var groups []string
	for _, g := range root.Groups() {
		groups = append(groups, g.Title)
	}
	if text := strings.Join(groups, " "); !strings.Contains(text, "from any machine") || !strings.Contains(text, "on the manager's machine") {
		t.Errorf("the groups are %s", text)
	}
	var noun *cobra.Command
	if noun, _, _ = root.Find([]string{"fs"}); strings.Contains(noun.Long, adminsNote) {
		t.Error("a command that only has others is marked")
	}
}
