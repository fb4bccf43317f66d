package files

import (
	"cmp"
	"context"
	"errors"
	gopath "path"
	"slices"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/rules/recycle"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// fileVersionsCommand makes `hemera file versions`, as in EOS: with a version it restores that one. Versions are files of
// the tree, so listing them needs only the right to list their directory.
func fileVersionsCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "versions <file> [version]", Args: cobra.RangeArgs(1, 2), ValidArgsFunction: complete.Paths(e),
		Short: "List earlier contents of a file, or restore one",
		Long: `Lists the versions of a file, the newest first: earlier contents that were kept because its
directory has sys.versioning=N, or user.versioning=N. With the name of a version, that becomes the
content of the file, and the content that it has now becomes a version. No data is copied.

Versions are files in the directory .sys.v#.NAME beside the file, as in EOS, and can be read there.`,
		Example: `  hemera attr set sys.versioning=5 /exp/doc         keep five contents of every file below
  hemera file versions /exp/doc/thesis.tex
  hemera file versions /exp/doc/thesis.tex 1700000000.0000fe21`,
		RunE: func(c *cobra.Command, args []string) error {
			path, err := e.OnManager(args[0])
			if err != nil {
				return err
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				if len(args) == 1 {
					return listVersions(ctx, e, m, path)
				}
				if err := m.Recycle.RestoreVersion(ctx, hemera.Identity{}, path, args[1]); err != nil {
					return err
				}
				e.Say("%s has the content of version %s", path, args[1])
				return nil
			})
		},
	}
}

// listVersions prints the versions of a file, the newest first. A file without versions is no error, unless the file does
// not exist.
func listVersions(ctx context.Context, e *cli.Env, m *admin.Client, path string) error {
	var found []hemera.Entry
	dir, ok := recycle.VersionDir(gopath.Base(path))
	if ok {
		err := m.Names.List(ctx, hemera.Identity{}, gopath.Join(gopath.Dir(path), dir), func(v hemera.Entry) error {
			// Other files of users in the directory are no versions.
			if _, id, ok := recycle.VersionOf(v.Name); ok && id == v.ID {
				found = append(found, v)
			}
			return nil
		})
		if err != nil && !errors.Is(err, errs.NotFound) {
			return err
		}
	}
	if len(found) == 0 {
		if _, err := m.Names.Stat(ctx, hemera.Identity{}, path); err != nil {
			return err
		}
	}
	slices.SortFunc(found, func(a, b hemera.Entry) int { return cmp.Or(b.Mtime.Compare(a.Mtime), cmp.Compare(b.ID, a.ID)) })
	var records []output.Record
	for _, v := range found {
		sum := "" // the first is the policy's
		if len(v.Checksums) > 0 {
			sum = v.Checksums[0].String()
		}
		records = append(records, output.Record{
			{Key: "version", Value: v.Name}, {Key: "mtime", Value: v.Mtime.Unix()}, {Key: "size", Value: v.Size}, {Key: "xs", Value: sum},
			{Key: "fxid", Value: v.ID.Hex()}, {Key: "path", Value: gopath.Join(gopath.Dir(path), dir, v.Name)},
		})
	}
	return e.List(versionColumns, records, "no versions; sys.versioning of its directory says how many are kept")
}

// versionColumns has the columns of file versions.
var versionColumns = []output.Column{
	{Title: "version", Key: "version"},                   // what restores it
	{Title: "modified", Key: "mtime", Show: output.Time}, // when its content was written
	{Title: "size", Key: "size", Show: output.Bytes},
	{Title: "checksum", Key: "xs", Wide: 1},
}
