package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// adminsNote is what the help of commands for admins ends with.
const adminsNote = "For admins: works on the manager's machine, as root or as the user the manager runs as."

// everywhere are commands of the cluster group that work on other machines too, for users or without a manager.
var everywhere = []string{"file info", "quota ls", "config example", "ns load", "ns rekey", "ns restore"}

// markAdmins says in the help of each command below c who may use it, and where.
func markAdmins(c *cobra.Command) {
	for _, sub := range c.Commands() {
		markAdmins(sub)
	}
	if !c.HasSubCommands() && !slices.Contains(everywhere, strings.TrimPrefix(c.CommandPath(), "hemera ")) {
		c.Long = strings.TrimRight(cmp.Or(c.Long, c.Short+"."), "\n") + "\n\n" + adminsNote
	}
}
