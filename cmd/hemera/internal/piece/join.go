package piece

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"hemera/client/pieces"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/platform/vfs"
	"hemera/words/errs"
)

// joinOptions are the flags of piece join.
type joinOptions struct {
	out   string // a path, or - for standard output
	force bool   // an existing file may be replaced
}

// joinCommand makes `hemera piece join`. The destination is a flag and not the last argument, because a shell's pattern
// of pieces must never become the destination by mistake.
func joinCommand(e *cli.Env) *cobra.Command {
	var o joinOptions
	c := &cobra.Command{
		Use: "join -o <file> <piece>...", Short: "Make a file again from pieces of it", Args: cobra.MinimumNArgs(1),
		Long: `Makes a file again from files of its pieces, in any order, without a manager. Of plain and replicated
files one piece is enough, of rs:K+M any K, of stripe:N all; of lrc:K+L+G nearly any K. More pieces do no harm:
a page that is bad in one comes from the others.

Every page is compared with its checksum, and the whole with the checksums of the file. The output
gets its name only if all is right; - writes to standard output, where the exit code tells it. Memory
does not depend on the size of the file. Pieces are never changed.`,
		Example: `  hemera piece join -o data.root /disk1/0/0000002a.1.0
  hemera piece join -o data.root /disk*/0/0000002a.1.*
  hemera piece join -o - node?/0000002a.1.* | sha256sum`,
		RunE: func(c *cobra.Command, args []string) error { return join(c.Context(), e, o, args) },
	}
	// No default, so that no file appears at an unexpected place.
	c.Flags().StringVarP(&o.out, "output", "o", "", "file to write, - for standard output")
	c.Flags().BoolVar(&o.force, "force", false, "replace the output file if there is one")
	_ = c.MarkFlagRequired("output")
	return c
}

// join opens the pieces before it makes the destination, so that nothing remains if they cannot be joined.
func join(ctx context.Context, e *cli.Env, o joinOptions, paths []string) error {
	const op = "hemera.JoinPieces"
	// Its error names the missing pieces.
	f, err := pieces.Open(vfs.OS{}, paths)
	if err != nil {
		return err
	}
	defer f.Close()
	// Bytes on standard output cannot be taken back: only the exit code says that they are complete.
	if o.out == "-" {
		out := bufio.NewWriterSize(e.Out, 1<<20)
		err := write(ctx, e, f, out)
		return errors.Join(err, out.Flush())
	}
	if _, err := os.Lstat(o.out); err == nil && !o.force {
		return errs.New(errs.Exists, op, o.out, "there is such a file").WithRemedy("name another, or add --force to replace it")
	}
	// Beside the destination, because a rename does not cross filesystems.
	partial, err := os.CreateTemp(filepath.Dir(o.out), "."+filepath.Base(o.out)+".*.partial")
	if err != nil {
		return errs.Wrap(err, op, o.out)
	}
	defer func() { _, _ = partial.Close(), os.Remove(partial.Name()) }() // after success there is no such name
	if err := write(ctx, e, f, partial); err != nil {
		return err
	}
	// CreateTemp makes files for their owner alone; the original owner is unknown here.
	if err := errors.Join(partial.Chmod(0o644), partial.Sync(), partial.Close(), os.Rename(partial.Name(), o.out)); err != nil {
		return errs.Wrap(err, op, o.out)
	}
	s := e.Stream(func(output.Record) string {
		return fmt.Sprintf("%s: %s of %s, fxid:%s", o.out, output.Count(f.Stat().FileSize, "byte"), f.Stat().Path, f.Stat().ID.File.Hex())
	})
	// The record is about the file, so fields of one piece are left out.
	r := record(o.out, f.Stat())
	kept := r[:0]
	for _, field := range r {
		if field.Key != "no" && field.Key != "size" && field.Key != "sealed" { // those are of one piece
			kept = append(kept, field)
		}
	}
	if err := s.Add(append(kept, output.Field{Key: "badpieces", Value: len(f.Problems())})); err != nil {
		return err
	}
	return s.Close()
}

// write writes the content, and names bad pieces on standard error. A bad piece is no failure while others are enough,
// but the user should know of it.
func write(ctx context.Context, e *cli.Env, f *pieces.File, out io.Writer) error {
	w := watchBytes(e, f.Stat().FileSize)
	err := f.WriteTo(ctx, out, w.add)
	w.end()
	if errors.Is(err, errs.NoReplicas) {
		return err // it names the bad ones itself
	}
	for _, p := range f.Problems() {
		fmt.Fprintf(e.Err, "hemera: %s is not good, and others were used: %s\n", e.Visible(p.Path), errs.Reason(p.Err, p.Path))
	}
	// A directory may require no checksum; then a piece of a wrong content would not be detected.
	if err == nil && len(f.Stat().Checksums) == 0 {
		fmt.Fprintln(e.Err, "hemera: the file has no checksum of its whole content; every page was compared with its own")
	}
	return err
}
