package storage

import (
	"strconv"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// FsCommand makes `hemera fs`, the commands for disks. The name and most verbs are EOS's.
func FsCommand(e *cli.Env) *cobra.Command {
	c := cli.Noun("fs", "Disks: list, add, change, empty, remove",
		fsLsCommand(e), fsAddCommand(e), fsSetCommand(e), fsRmCommand(e), fsStatusCommand(e), fsFilesCommand(e))
	c.Long = `A disk (EOS: filesystem, fs) is one mounted filesystem of one node. It has a number, its id,
that no other disk ever gets. You set its configstatus; the node reports its health.`
	c.Example = `  hemera fs ls                          all disks
  hemera fs add node1 /data07           take a new one into use
  hemera fs set 4 drain                 empty disk 4 ...
  hemera fs status 4 --watch            ... watch that ...
  hemera fs rm 4                        ... and take it out`
	return c
}

// ParseDisk reads a disk's id, from 1, from the command line. Its error is Invalid and one of the command line. ParseDisk
// does not ask whether the disk exists.
func ParseDisk(s string) (hemera.DiskID, error) {
	id, err := strconv.ParseUint(s, 10, 32)
	if err != nil || id == 0 {
		return 0, cli.Usage(errs.New(errs.Invalid, "hemera.ReadDiskId", s, "want a number from 1").
			WithRemedy("hemera fs ls shows the ids"))
	}
	return hemera.DiskID(id), nil
}
