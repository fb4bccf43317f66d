package files

import (
	"strings"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
)

// FileCommand makes `hemera file`: one file and its pieces. info reads the namespace; check and verify make the nodes
// read the disks.
func FileCommand(e *cli.Env) *cobra.Command {
	c := cli.Noun("file", "One file: where its pieces are, and whether they are whole",
		fileInfoCommand(e), fileCheckCommand(e, "check", false), fileCheckCommand(e, "verify", true), fileVersionsCommand(e))
	c.Long = `Files are named by path (file versions takes paths only), by id as fid:<decimal> or fxid:<hexadecimal>, or by URL. Directories and
files share their ids: pid:, pxid: and inode: are taken too.`
	c.Example = `  hemera file info /exp/data.root        where are its pieces?
  hemera file check /exp/data.root       are they whole? All of them are read.
  hemera file versions /exp/data.root    which earlier contents are kept?`
	return c
}

// fileRef parses an argument that is a path, or an id such as fxid:1a or fid:26. It does not check whether the file
// exists. The prefixes are EOS's; the manager understands them.
func fileRef(e *cli.Env, s string) (string, error) {
	for _, prefix := range []string{"fid:", "fxid:", "pid:", "pxid:", "cid:", "cxid:", "inode:"} {
		if strings.HasPrefix(s, prefix) {
			return s, nil
		}
	}
	return e.OnManager(s)
}
