package main

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// adminsNote is the end of the help of commands for admins.
const adminsNote = "For admins: works on the manager's machine, as root or as the user the manager runs as."

// everywhere lists the commands of the cluster group that are not only for admins: users may run them on any machine, or
// they need no manager.
var everywhere = []string{"bench compare", "bench report", "bench disk", "bench net", "bench io", "bench interference", "bench tape", "file info", "file versions", "quota ls", "config example", "doctor", "ns load", "open ls", "open commit", "open drop", "ns rebuild prepare", "ns rekey", "ns restore", "piece join", "piece show", "piece verify", "tape stage", "tape release", "tape archive", "tape serve", "tape stage drop", "tape stage ls", "why"}

// markAdmins adds adminsNote to the help of every command below c that is not in everywhere. The note only informs: the
// manager checks the rights of each caller.
func markAdmins(c *cobra.Command) {
	// Users run verbs; a noun only lists them.
	for _, sub := range c.Commands() {
		markAdmins(sub)
	}
	// A command without a long text gets its short one as the first sentence.
	if !c.HasSubCommands() && !slices.Contains(everywhere, strings.TrimPrefix(c.CommandPath(), "hemera ")) {
		c.Long = strings.TrimRight(cmp.Or(c.Long, c.Short+"."), "\n") + "\n\n" + adminsNote
	}
}
