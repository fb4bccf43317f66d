package ns

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/platform/kv/archive"
	"hemera/process/backup"
	"hemera/words/hemera"
)

// nsRestoreCommand makes `hemera ns restore`. The consent is about the cluster, not the directory, which must be empty.
func nsRestoreCommand(e *cli.Env) *cobra.Command {
	var k cli.Consent
	c := &cobra.Command{
		Use: "restore <file> <dir>", Short: "Make a manager's state directory from a backup", Args: cobra.ExactArgs(2),
		Long: `Makes the state directory of a manager (its --data; of hemera up, the folder manager in
it) from an archive that ns backup wrote; - reads it from standard input. The directory
must be empty. The lost manager must not run any more. The command first prints the moment
of the backup and what it does not have, and asks. A script gives its consent with --yes.

The restored namespace is that of the backup. New ids begin above all that were ever
used, so that pieces of files made since the backup are told apart: they are kept, fsck
names them "newer", and ns rebuild --merge makes files of them. Pieces that were moved since are found where they are now. Join
tokens are not restored; nodes and disks that joined since join again. The clock of this
machine must be right.`,
		Example: `  hemera ns restore namespace.hemera /var/lib/hemera
  hemera manager --data /var/lib/hemera
  hemera ns rebuild --merge
  hemera fsck repair`,
		RunE: func(c *cobra.Command, args []string) error { return restore(c.Context(), e, args[0], args[1], k) },
	}
	k.Flags(c)
	return c
}

// errSeen ends the reading of an archive after its header. Only the visitor and its caller use it.
var errSeen = errors.New("the head was read")

// agreeRestore prints the time of a backup and asks for consent. Standard input can be read only once, so its time cannot
// be shown, and it needs --yes. It reads only the header; restore opens the file again.
func agreeRestore(ctx context.Context, e *cli.Env, k cli.Consent, file string) (bool, error) {
	stake := []string{"the manager will have nothing of what was done after the backup, and the manager that it was taken from must not run any more"}
	if file != "-" || k.Dry {
		in, done, err := openArchive(e, file)
		if err != nil {
			return false, err
		}
		defer done()
		var head archive.Header
		if _, err := archive.Read(in, archive.Visitor{Header: func(h archive.Header) error { head = h; return errSeen }}); !errors.Is(err, errSeen) {
			return false, about(err, file)
		}
		stake = append(stake, fmt.Sprintf("  the backup is of %s: %s, %s", head.Taken.UTC().Format(time.RFC3339),
			output.Count(head.Files, "file"), output.Count(head.Directories, "directory")))
	}
	return e.Agree(ctx, k, "hemera.NsRestore", stake)
}

// tapesLine returns a line with the tapes that wait for a scan, and the command.
func tapesLine(vids []hemera.VID) string {
	const listed = 10
	first := make([]string, 0, listed)
	for _, vid := range vids[:min(len(vids), listed)] {
		first = append(first, string(vid))
	}
	names := strings.Join(first, ", ")
	if len(vids) > listed {
		names += fmt.Sprintf(" and %d more", len(vids)-listed)
	}
	return "tapes " + names + " may have files that the backup does not know, and are not written until they were scanned: run hemera tape scan --needed"
}

// restore restores an archive and prints the next steps. A failed restore removes its files. If it is killed, the
// directory that remains cannot start a manager.
func restore(ctx context.Context, e *cli.Env, file, dir string, k cli.Consent) error {
	if ok, err := agreeRestore(ctx, e, k, file); !ok {
		return err
	}
	in, done, err := openArchive(e, file)
	if err != nil {
		return err
	}
	defer done()
	watch := watchArchive(e)
	r, err := backup.Restore(ctx, io.TeeReader(in, &counted{w: io.Discard, watch: watch}), dir, backup.RestoreOptions{
		Header: func(h archive.Header) error { watch.head = h; return nil },
		Pair:   func() { watch.pairs++ }, // for the progress line
	})
	watch.end()
	if err != nil {
		return about(err, file)
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	s := e.Stream(func(output.Record) string {
		text := fmt.Sprintf("%s is the namespace of %s: %d files, %d directories\nnew ids begin at %d; start the manager with --data %s\nthen run hemera ns rebuild --merge: it makes the files again that were written after the backup\nrecycle bins and lifecycle rules remove nothing until hemera ns rebuild forget",
			dir, watch.head.Taken.UTC().Format(time.RFC3339), watch.head.Files, watch.head.Directories, r.Boundary.To, dir)
		if len(r.Tapes) > 0 {
			text += "\n" + tapesLine(r.Tapes)
		}
		return text
	})
	if err := s.Add(output.Record{
		{Key: "restore.dir", Value: dir}, {Key: "restore.taken", Value: watch.head.Taken.Unix()}, {Key: "restore.files", Value: watch.head.Files},
		{Key: "restore.directories", Value: watch.head.Directories}, {Key: "restore.records", Value: r.Totals.Pairs},
		{Key: "restore.ids.from", Value: r.Boundary.From}, {Key: "restore.ids.to", Value: r.Boundary.To}, {Key: "restore.epoch", Value: r.Epoch}, {Key: "restore.tapes", Value: r.Tapes}, // the lost namespace may have used ids between these two
		{Key: "restore.seconds", Value: watch.took().Seconds()},
	}); err != nil {
		return err
	}
	return s.Close()
}
