package files

import (
	"context"
	"io"
	"math"

	"github.com/spf13/cobra"

	"hemera/client/direct"
	"hemera/client/xrootd"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/complete"
	"hemera/words/errs"
)

// CatCommand makes `hemera cat`: contents of files. After a failed file it continues with the next; then the exit code is
// 1. Standard output has only the bytes of files, so -m and -j have no effect.
func CatCommand(e *cli.Env) *cobra.Command {
	var offset, length int64
	c := &cobra.Command{
		Use: "cat <path>…", Short: "Write files to standard output", Args: cobra.MinimumNArgs(1), ValidArgsFunction: complete.Paths(e),
		Long: "Writes files to standard output. Every page is compared with its checksum first.\nLarge coded files are read straight from their nodes, as hemera cp does.\n" + cli.PathHelp,
		Example: `  hemera cat /exp/notes.txt
  hemera cat --offset 1000000 --length 512 /exp/data.root | xxd`,
		RunE: func(c *cobra.Command, args []string) error {
			if offset < 0 || length < 0 {
				return cli.Usage(errs.New(errs.Invalid, "hemera.Cat", "", "offset and length cannot be negative"))
			}
			// Without --length up to the end of the file. The comparison avoids an overflow of the sum.
			end := int64(math.MaxInt64)
			if c.Flags().Changed("length") && length < end-offset {
				end = offset + length
			}
			return e.Files(c, func(ctx context.Context, cl *xrootd.Client) error {
				// One for all files, so that its sessions with nodes are reused.
				from := direct.New(cl, direct.Options{})
				defer from.Close()
				return e.Each(ctx, args, func(arg string) error { return cat(ctx, e, from, arg, offset, end) })
			})
		},
	}
	c.Flags().Int64Var(&offset, "offset", 0, "number of bytes to skip") // beyond the end: nothing is written
	c.Flags().Int64Var(&length, "length", 0, "maximum number of bytes") // 0 if given is no bytes
	return c
}

// cat copies the bytes from offset to end of one file to standard output. The client verifies each page before it is
// written. It reads ahead while it writes. After a failure the written bytes stay: the reader of a pipe must check the
// exit code. It fails if the file changes meanwhile.
func cat(ctx context.Context, e *cli.Env, from *direct.Client, arg string, offset, end int64) error {
	u, err := e.Remote(arg)
	if err != nil {
		return err
	}
	f, err := from.Open(ctx, u)
	if err != nil {
		return err
	}
	defer f.Close(ctx)
	before, err := f.Version(ctx)
	if err != nil {
		return err
	}
	r := f.NewReader(ctx, offset, end) // several requests in flight
	// It cancels requests in flight.
	defer r.Close()
	// The bytes are written from the client's memory; io.Copy would copy them once more.
	for {
		b, err := r.Next()
		if err == io.EOF {
			after, err := f.Version(ctx)
			if err == nil && after != before {
				err = errs.New(errs.Conflict, "hemera.Cat", u.Redacted(), "the file was changed while it was read").WithRemedy("read it again when nothing writes to it")
			}
			return err
		}
		if err == nil {
			_, err = e.Out.Write(b)
		}
		if err != nil {
			return errs.Wrap(err, "hemera.Cat", u.Redacted())
		}
	}
}
