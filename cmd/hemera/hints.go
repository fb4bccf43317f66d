package main

import (
	"strings"

	"github.com/spf13/cobra"
)

// hint adds words of other systems to commands, so that an unknown word suggests the command: hemera df prints "did you
// mean hemera space?". A path without a command is skipped, so a renamed command only loses its hints. The words are
// those of EOS, of df(1) and of other storage systems.
func hint(root *cobra.Command) {
	for path, words := range map[string][]string{
		"status": {"health"}, "space": {"df", "balance", "balancer"}, "who": {"whoami", "sessions"}, "rm": {"rmdir", "unlink"}, "file": {"fileinfo"}, "fs": {"disk", "disks", "drain"},
		"fs set": {"config", "drain"}, "space set": {"config", "define"}, "node set": {"config"}, "fs add": {"boot"}, "quota": {"limits"}, "fsck": {"scrub", "audit"}, "net": {"network", "netstat"},
	} {
		if c, _, err := root.Find(strings.Fields(path)); err == nil {
			c.SuggestFor = append(c.SuggestFor, words...)
		}
	}
}
