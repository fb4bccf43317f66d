package files

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// AttrCommand makes `hemera attr`: extended attributes. The namespace stores attributes with the entry. Other XRootD
// clients see user.NAME as NAME.
func AttrCommand(e *cli.Env) *cobra.Command {
	c := cli.Noun("attr", "Extended attributes: list, set, get, remove",
		attrLsCommand(e), attrSetCommand(e), attrGetCommand(e), attrRmCommand(e))
	c.Long = `An attribute is a text with a name, stored with an entry. Names that begin with user. are yours.
Names that begin with sys. say how a directory treats the files that are made in it, and in all
directories below; the nearest directory wins:

  sys.forced.space         the space that new files go to
  sys.forced.layout        plain, replica:3, rs:4+2 (4 data and 2 parity pieces), lrc:12+2+2, stripe:4;
                           or EOS's raid5, raid6, raiddp, archive, qrain
  sys.forced.nstripes      the number of all pieces, 1 to 32; plain and replica have copies
  sys.forced.blocksize     of files with data pieces: 64k to 16M
  sys.forced.checksum      adler32, crc32c, crc64nvme, md5, sha256, xxh3, blake3, crc32, zcrc32
  sys.forced.mode          the permission bits of new files and directories, octal
  sys.forced.nouserlayout  1: clients cannot choose space, layout, pieces and checksum in URLs

Files that exist already stay as they are. What becomes of files later:

  sys.lifecycle.expire     rules by which files are removed: age=30d name=*.tmp; unused=1y
  sys.lifecycle.convert    rules by which files are stored otherwise: layout=rs:4+2 age=7d min=100M
  sys.recycle              how long and how much of removed and replaced files is kept: 30d,10T
  sys.versioning           the number of replaced contents of a file that are kept as its versions

EOS's sys.lru.expire.match, and sys.lru.convert.match with sys.conversion.*, are read too.`
	c.Example = `  hemera attr set sys.forced.nstripes=3 /exp      new files below /exp get three copies
  hemera attr set sys.forced.layout=rs:4+2 /big   new files below /big survive any 2 lost disks
  hemera attr ls --effective /exp/run1            what new files there get, and why
  hemera attr set user.campaign=2026 /exp/run1    a note of your own`
	return c
}

// attrGetCommand makes `hemera attr get`. It fails with NoAttribute if the attribute is not set, so that scripts can
// distinguish that from an empty value.
func attrGetCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "get <name> <path>", Short: "Print one attribute", Args: cobra.ExactArgs(2), ValidArgsFunction: nameAndPath(e),
		Long:    `Prints one attribute as ls does, with quotes round the value; -j has it in its result.`,
		Example: `  hemera attr get sys.forced.layout /exp`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				attrs, path, err := attributes(ctx, e, m, args[1])
				if err != nil {
					return err
				}
				// An empty value is a value.
				value, there := attrs[args[0]]
				if !there {
					return errs.New(errs.NoAttribute, "hemera.AttrGet", path, "attribute "+args[0]+" is not set").
						WithRemedy("hemera attr ls " + path + " shows those that are")
				}
				s := e.Stream(func(r output.Record) string { return fmt.Sprintf("%s=%q", args[0], value) }) // quoted as in Go: values may have any bytes
				if err := s.Add(output.Record{{Key: "name", Value: args[0]}, {Key: "value", Value: string(value)}}); err != nil {
					return err
				}
				return s.Close()
			})
		},
	}
}

// nameAndPath offers the names of attributes for the first argument, and paths for the second.
func nameAndPath(e *cli.Env) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, word string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return complete.Paths(e)(c, args, word)
		}
		var names []cobra.Completion
		// Without the values that set offers.
		for _, known := range knownAttributes {
			name, _, _ := strings.Cut(known, "=")
			names = append(names, name)
		}
		return slices.Compact(names), cobra.ShellCompDirectiveNoSpace | cobra.ShellCompDirectiveNoFileComp
	}
}

// attributes returns the attributes of an entry, and its path. A Stat has all attributes, so one request is enough. The
// empty Identity stands for the caller's own.
func attributes(ctx context.Context, e *cli.Env, m *admin.Client, arg string) (map[string][]byte, string, error) {
	path, err := e.OnManager(arg)
	if err != nil {
		return nil, "", err
	}
	en, err := m.Names.Stat(ctx, hemera.Identity{}, path)
	return en.Xattrs, path, err
}

// attrRmCommand makes `hemera attr rm`. With -r entries without the attribute are skipped. It stops at the first error;
// earlier removals stay. Without -r it fails with NoAttribute if the attribute is not set.
func attrRmCommand(e *cli.Env) *cobra.Command {
	var recursive bool
	c := &cobra.Command{
		Use: "rm <name> <path>", Short: "Remove one attribute", Args: cobra.ExactArgs(2), ValidArgsFunction: nameAndPath(e),
		Example: `  hemera attr rm user.campaign /exp/run1`,
		RunE: func(c *cobra.Command, args []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				return e.Done(tree(ctx, e, m, args[1], recursive, func(path string) error {
					err := m.Attributes.RemoveXattr(ctx, hemera.Identity{}, path, args[0])
					// In a tree most entries do not have it.
					if recursive && errs.KindOf(err) == errs.NoAttribute {
						return nil
					}
					return err
				}))
			})
		},
	}
	c.Flags().BoolVarP(&recursive, "recursive", "r", false, "everything below too, where it is set") // one request for each entry
	return c
}
