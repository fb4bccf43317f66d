package storage

import (
	"context"
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// fsFilesCommand makes `hemera fs files`; EOS calls it dumpmd. The manager reads its index by disk, so the cost grows
// with the listed files, not with all files of the cluster.
func fsFilesCommand(e *cli.Env) *cobra.Command {
	var after uint64
	var o diskFilesOptions
	c := &cobra.Command{
		Use: "files <id>", Short: "List the files with a piece on a disk", Aliases: []string{"dumpmd"}, Args: cobra.ExactArgs(1),
		Long: `Lists the files that have a piece on the disk, in the order of their ids: id, size, how many
pieces the file has, whether it is the last that can be read now, and the path. The list is made
while the cluster works: a file that is written or moved meanwhile may be in it or not.`,
		Example: `  hemera fs files 4 | less
  hemera fs files 4 --last              what could not be read without the disk
  hemera fs files 4 --limit 1000 --after 0000fe21 -j    the page after the file with this fxid`,
		RunE: func(c *cobra.Command, args []string) error {
			id, err := ParseDisk(args[0])
			if err != nil {
				return err
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				o.disk, o.after = id, hemera.FileID(after)
				return listDiskFiles(ctx, e, m, o)
			})
		},
	}
	c.Flags().BoolVar(&o.last, "last", false, "only files that cannot be read without the disk")
	c.Flags().Var((*fxid)(&after), "after", "begin after the file with this fxid")                // the file itself is not listed
	c.Flags().Uint64Var(&o.limit, "limit", 0, "the largest `number` of files to list; 0 for all") // counts files that are printed
	c.ValidArgsFunction = complete.Disks(e)
	return c
}

// filesPage is the number of files in one answer of the manager. It bounds the memory of an answer and of this process.
const filesPage = 1000

// diskFilesOptions select files of a disk.
type diskFilesOptions struct {
	disk  hemera.DiskID
	after hemera.FileID // lists the files after this one
	limit uint64        // 0 for all
	last  bool          // only files whose last readable piece is on the disk
}

// listDiskFiles prints the files with a piece on a disk. It holds one page in memory. Each page is read at its own time,
// so the list is not a consistent picture.
func listDiskFiles(ctx context.Context, e *cli.Env, m *admin.Client, o diskFilesOptions) error {
	s := e.Stream(func(r output.Record) string {
		return fmt.Sprintf("%s  %11s  %2d  %-4s  %s", r.Get("fxid"), output.Bytes(r.Get("size")), r.Get("nrep"), cli.OnOff(r.Get("last") == true, "last", "-"), r.Get("path"))
	})
	// shown counts printed files: with --last a page may print none.
	shown, after := uint64(0), o.after
	for {
		page, err := m.Maint.DiskFiles(ctx, o.disk, after, filesPage)
		if err != nil {
			return err
		}
		for _, f := range page.Files {
			if o.last && !f.Last {
				continue
			}
			if o.limit > 0 && shown == o.limit {
				return s.Close()
			}
			shown++
			err := s.Add(output.Record{
				{Key: "fxid", Value: f.File.Hex()}, {Key: "fid", Value: uint64(f.File)}, {Key: "size", Value: f.Size}, {Key: "nrep", Value: f.Pieces},
				{Key: "layout", Value: f.Layout.String()}, {Key: "last", Value: f.Last}, {Key: "path", Value: f.Path},
			})
			if err != nil {
				return err
			}
		}
		// A page without printed files need not be the last.
		if after = page.Next; after == 0 {
			break
		}
	}
	// This goes to standard error, so that a pipe gets files alone.
	if shown == 0 && !e.ForPrograms() {
		fmt.Fprintf(e.Err, "no %sfile has a piece on disk %s\n", cli.OnOff(o.last || o.after > 0, "such ", ""), o.disk)
	}
	return s.Close()
}

// fxid is a flag for the id of a file in hexadecimal, as the tables show it. 0 means that it was not given; ids begin at
// 1.
type fxid uint64

// String implements pflag.Value. It returns "" for 0.
func (f *fxid) String() string {
	if *f == 0 {
		return ""
	}
	return hemera.FileID(*f).Hex()
}

// Set implements pflag.Value.
func (f *fxid) Set(s string) error {
	id, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		return errs.New(errs.Invalid, "hemera.ReadFxid", s, "want a hexadecimal number").WithRemedy("it is the first column of hemera fs files")
	}
	*f = fxid(id)
	return nil
}

// Type implements pflag.Value: it returns the word for the value in --help.
func (f *fxid) Type() string { return "fxid" }
