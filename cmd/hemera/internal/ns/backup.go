package ns

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/platform/kv/archive"
	"hemera/process/backup"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// nsBackupCommand makes `hemera ns backup`. Its three forms differ only in the source: a manager, a state directory, or
// with --verify an archive that is read back.
func nsBackupCommand(e *cli.Env) *cobra.Command {
	var verify, damaged bool
	var state string
	c := &cobra.Command{
		Use: "backup <target>", Short: "Copy all that the manager remembers into one file, while it works", Args: cobra.ExactArgs(1),
		Long: `Writes an archive of the namespace, the cluster's records and the cluster's authority, as
of one moment. No request waits for it, and the manager's memory does not grow with it. The
target is a file; or a directory, for namespace-<date>.hemera in it; or - for standard
output. The file gets its name when all of it is written, checked and on the disk.

The archive holds the cluster's secrets: anybody who has it can act as the manager, and read
tapes that are encrypted. The file is readable by its owner only; keep it so, and apart from
the tapes.

--verify reads an archive that exists and says whether all of it is as it was written.

--state DIR takes the archive from the state directory of a manager, or of hemera up, that
does not run, and changes nothing there. With --damaged it takes what is before the damage
when the log of the changes cannot be read to its end, which a manager refuses to start
from. To go on from there, restore the archive into an empty directory with ns restore: it
never gives out an id twice.`,
		Example: `  hemera ns backup /backup
  ssh manager hemera ns backup - > namespace.hemera
  hemera ns backup --verify namespace.hemera
  hemera ns backup --state /var/lib/hemera --damaged /backup`,
		RunE: func(c *cobra.Command, args []string) error {
			if damaged && state == "" {
				return cli.Usage(errs.New(errs.Invalid, "hemera.NsBackup", "--damaged", "it goes with --state DIR: a manager that runs has read all of its log"))
			}
			if verify { // no cluster is needed
				return verifyBackup(e, args[0])
			}
			if state != "" { // nor here
				return writeBackup(c.Context(), e, stateBackups(e, state, damaged), args[0])
			}
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error { return writeBackup(ctx, e, m.Backups, args[0]) })
		},
	}
	c.Flags().BoolVar(&verify, "verify", false, "check an existing archive")                                      // reads all of it
	c.Flags().StringVar(&state, "state", "", "take it from the state `directory` of a manager that does not run") // of a manager that does not run
	c.Flags().BoolVar(&damaged, "damaged", false, "with --state: take what is before the damage, if there is any")
	c.MarkFlagsMutuallyExclusive("verify", "state")
	c.MarkFlagsMutuallyExclusive("verify", "damaged")
	return c
}

// stateBackups takes archives of a state directory. It prints damage on standard error. The server's log lines are
// discarded, because the command's errors are enough.
func stateBackups(e *cli.Env, dir string, damaged bool) adminapi.Backups {
	b := backup.Offline{Dir: dir, Program: "hemera " + e.Build.Version, Log: slog.New(slog.DiscardHandler)}
	if damaged {
		b.Damaged = func(err error) { fmt.Fprintln(e.Err, "hemera:", err) }
	}
	return b
}

// writeBackup writes an archive to the target, and verifies it meanwhile: a target file appears only if all of it is
// intact. It fails with Exists if the target file exists. An interrupted backup leaves no file.
func writeBackup(ctx context.Context, e *cli.Env, m adminapi.Backups, target string) error {
	// Bytes in a pipe cannot be taken back: if the backup fails, the exit code says so.
	if target == "-" {
		watch := watchArchive(e)
		if _, err := takeBackup(ctx, m, e.Out, watch); err != nil {
			return err
		}
		watch.end()
		return nil
	}
	// The time in the name is UTC, so that names sort by age.
	if info, err := os.Stat(target); err == nil && info.IsDir() {
		target = filepath.Join(target, "namespace-"+e.Now().UTC().Format("20060102T150405Z")+".hemera")
	}
	f, err := newFile(target)
	if err != nil {
		return err
	}
	defer f.abandon()
	watch := watchArchive(e)
	// Archives are written in small records.
	out := bufio.NewWriterSize(f, 1<<20) // 1 MiB
	totals, err := takeBackup(ctx, m, out, watch)
	if err == nil {
		err = errs.Wrap(out.Flush(), "hemera.NsBackup", target)
	}
	if err == nil {
		err = f.publish() // only after every checksum matched
	}
	watch.end()
	if err != nil {
		return err
	}
	return printArchive(e, target, watch, totals)
}

// takeBackup copies an archive to out and checks it at the same time, with a pipe: the source writes at one end,
// archive.Read verifies at the other and passes the bytes on. The pipe has no buffer, so the manager is slowed to the
// rate of the target and memory stays small.
func takeBackup(ctx context.Context, m adminapi.Backups, out io.Writer, watch *archiveWatch) (archive.Totals, error) {
	ctx, cancel := context.WithCancel(ctx) // ends the request if reading fails
	defer cancel()
	from, to := io.Pipe()
	// The buffer lets the goroutine end even if reading fails first.
	sent := make(chan error, 1)
	go func() {
		err := m.Backup(ctx, to)
		_ = to.CloseWithError(err) // nil closes with EOF
		sent <- err
	}()
	totals, err := archive.Read(io.TeeReader(from, &counted{w: out, watch: watch}), watch.visitor())
	_ = from.CloseWithError(err) // wakes the writer if it still writes
	cancel()
	// The manager's error precedes the error about an incomplete archive, but not a cancellation by this function.
	if sentErr := <-sent; sentErr != nil && !errors.Is(sentErr, context.Canceled) && !errors.Is(sentErr, err) {
		return totals, sentErr
	}
	return totals, err
}

// verifyBackup checks an existing archive. It fails with Corrupt if the archive is damaged or incomplete.
func verifyBackup(e *cli.Env, path string) error {
	in, done, err := openArchive(e, path)
	if err != nil {
		return err
	}
	defer done()
	watch := watchArchive(e)
	totals, err := archive.Read(io.TeeReader(in, &counted{w: io.Discard, watch: watch}), watch.visitor())
	watch.end()
	if err != nil {
		return about(err, path)
	}
	return printArchive(e, path, watch, totals)
}

// about adds the name of the archive to an error without a subject. Package archive reads a stream and does not know the
// name.
func about(err error, path string) error {
	var cause *errs.Error
	if errors.As(err, &cause) && cause.Subject == "" {
		named := *cause
		named.Subject = path
		return &named
	}
	return err
}

// openArchive opens a file, or standard input for "-". The caller calls the returned function at the end.
func openArchive(e *cli.Env, path string) (io.Reader, func(), error) {
	if path == "-" {
		return bufio.NewReaderSize(e.In, 1<<20), func() {}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, errs.Wrap(err, "hemera.OpenBackup", path)
	}
	return bufio.NewReaderSize(f, 1<<20), func() { _ = f.Close() }, nil
}

// printArchive prints the contents of an archive: two lines for people, one record for programs.
func printArchive(e *cli.Env, path string, w *archiveWatch, t archive.Totals) error {
	h := w.head
	s := e.Stream(func(output.Record) string {
		return fmt.Sprintf("%s: %s, %s, %s, whole, as of %s\n%s in %s, sha256 %s", path, output.Bytes(w.bytes),
			output.Count(h.Files, "file"), output.Count(h.Directories, "directory"), h.Taken.UTC().Format(time.RFC3339),
			fmt.Sprintf("%d records", t.Pairs), output.Seconds(w.took().Seconds()), t.SHA256)
	})
	if err := s.Add(output.Record{
		{Key: "backup.path", Value: path}, {Key: "backup.bytes", Value: w.bytes}, {Key: "backup.taken", Value: h.Taken.Unix()}, // taken: seconds since 1970
		{Key: "backup.files", Value: h.Files}, {Key: "backup.directories", Value: h.Directories}, {Key: "backup.records", Value: t.Pairs},
		{Key: "backup.sequence", Value: h.Sequence}, {Key: "backup.epoch", Value: h.Epoch}, {Key: "backup.sha256", Value: t.SHA256}, // where in the history of the store it was taken
		{Key: "backup.seconds", Value: w.took().Seconds()}, // of the copying
	}); err != nil {
		return err
	}
	return s.Close()
}
