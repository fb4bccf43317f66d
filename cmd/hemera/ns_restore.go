package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/output"
	"hemera/daemon"
	"hemera/kv/archive"
)

func nsRestoreCommand(e *env) *cobra.Command {
	return &cobra.Command{
		Use: "restore <file> <dir>", Short: "Make a manager's state directory of a backup", Args: cobra.ExactArgs(2),
		Long: `Makes the state directory of a manager (its --data; of hemera up, the folder manager in
it) from an archive that ns backup wrote; - reads it from standard input. The directory
must be empty. No manager is asked; the lost one must not run any more.

The restored namespace is that of the backup. New ids begin beyond all that were ever
used, so that pieces of files made since the backup are told apart: they are kept, and
fsck names them "newer". Pieces that were moved since are found where they are now. Join
tokens are not restored; nodes and disks that joined since join again. The clock of this
machine must be right.`,
		Example: `  hemera ns restore namespace.hemera /var/lib/hemera
  hemera manager --data /var/lib/hemera
  hemera fsck repair`,
		RunE: func(c *cobra.Command, args []string) error { return e.restore(c.Context(), args[0], args[1]) },
	}
}

func (e *env) restore(ctx context.Context, file, dir string) error {
	in, done, err := e.openArchive(file)
	if err != nil {
		return err
	}
	defer done()
	watch := e.watchArchive()
	r, err := daemon.Restore(ctx, io.TeeReader(in, &counted{w: io.Discard, watch: watch}), dir, daemon.RestoreOptions{
		Header: func(h archive.Header) error { watch.head = h; return nil },
		Pair:   func() { watch.pairs++ },
	})
	watch.end()
	if err != nil {
		return about(err, file)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	s := e.stream(func(output.Record) string {
		return fmt.Sprintf("%s is the namespace of %s: %d files, %d directories\nnew ids begin at %d; start the manager with --data %s, then run hemera fsck repair",
			dir, watch.head.Taken.UTC().Format(time.RFC3339), watch.head.Files, watch.head.Directories, r.Boundary.To, dir)
	})
	if err := s.Add(output.Record{
		{Key: "restore.dir", Value: dir}, {Key: "restore.taken", Value: watch.head.Taken.Unix()}, {Key: "restore.files", Value: watch.head.Files},
		{Key: "restore.directories", Value: watch.head.Directories}, {Key: "restore.records", Value: r.Totals.Pairs},
		{Key: "restore.ids.from", Value: r.Boundary.From}, {Key: "restore.ids.to", Value: r.Boundary.To}, {Key: "restore.epoch", Value: r.Epoch},
		{Key: "restore.seconds", Value: watch.took().Seconds()},
	}); err != nil {
		return err
	}
	return s.Close()
}
