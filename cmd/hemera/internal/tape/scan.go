package tape

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// A scan runs in the manager and the tape server. The command orders it and shows its progress.

// scanFlags are the flags of tape scan.
type scanFlags struct {
	order  adminapi.TapeOrder
	all    bool
	needed bool
	noWait bool
	list   bool // print a line for each item that became no file
}

// scanCommand makes `hemera tape scan`. One tape is an argument and all tapes are a flag, so that a forgotten word does
// not mount a whole library.
func scanCommand(e *cli.Env) *cobra.Command {
	f := scanFlags{order: adminapi.TapeOrder{Kind: adminapi.OrderScan}}
	c := &cobra.Command{
		Use: "scan [<vid>]", Short: "Read what is on a tape into the catalogue and the tree", Args: cobra.MaximumNArgs(1),
		Long: `A drive mounts the tape and reads its index files, or its labels where it has none. The tape is then in
the catalogue and is written on behind its last file. Its files come back at their paths, on tape only, with
size, checksums, owner, mode, time and storage class. Without a tape, the command shows the last scan of
each.

What is known stays as it is. No file that is there is replaced. What a tape has and no file may have is
listed with the tape, and "hemera tape undelete" makes a file of it:

  copy      a file that was there has one copy more
  made      a new file, at its path
  lost      a new file in /lost+found/tape/VID: the tape tells no path, or none that it can have
  dead      no file: it was removed or replaced since, or another file has its path
  differs   the catalogue has something else at this place of the tape; nothing was changed
  not       nothing can be made of what the tape tells; nothing was changed
  known     the catalogue had it

A tape that the catalogue has as empty although it was labelled here was reclaimed: --force takes its files
all the same. A scan may be interrupted, and repeated as often as you like. An encrypted tape needs its key:
"hemera tape key add NAME --from FILE", and "hemera tape tape set VID encryptionKeyName=NAME" where the
catalogue does not know which key it is.`,
		Example: `  hemera tape scan V00001 --dry-run
  hemera tape scan V00001
  hemera tape scan --all
  hemera tape scan --needed
  hemera tape scan ls
  hemera tape cancel V00001`,
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.order.Subject = args[0]
			}
			// Both would be two different orders.
			if (f.all || f.needed) && len(args) > 0 {
				return cli.Usage(errs.New(errs.Invalid, "adminapi.TapeScan", args[0], "--all and --needed name the tapes themselves"))
			}
			f.order.Only, f.all = f.needed, f.all || f.needed
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error { return runScan(ctx, e, m, f) })
		},
	}
	c.AddCommand(&cobra.Command{
		Use: "ls", Aliases: []string{"list"}, Short: "List the last scan of each tape", Args: cobra.NoArgs, Example: "  hemera tape scan ls",
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error { return runScan(ctx, e, m, scanFlags{}) })
		},
	})
	// The manager checks the flags of the order; the last two belong to this command alone.
	c.Flags().BoolVar(&f.all, "all", false, "all tapes that the libraries have")
	c.Flags().BoolVar(&f.needed, "needed", false, "those tapes of the libraries that are not written until they were scanned")
	c.Flags().BoolVar(&f.order.DryRun, "dry-run", false, "read the tape, change nothing, and say what would be done")
	c.Flags().BoolVar(&f.order.Data, "data", false, "read files that no index lists, for their checksums: as long as the whole tape takes")
	c.Flags().BoolVar(&f.order.Force, "force", false, "also take what is on a tape that was reclaimed, and believe a tape that ends before the catalogue's last file")
	c.Flags().BoolVar(&f.noWait, "no-wait", false, "order it, and do not wait")
	c.Flags().BoolVarP(&f.list, "list", "l", false, "print a line for each of the first files that became none, or are in /lost+found")
	return c
}

// scanPoll is the time between two requests for the progress of the scans.
const scanPoll = time.Second

// runScan orders scans, unless it only shows them, and follows them to their end.
func runScan(ctx context.Context, e *cli.Env, m *admin.Client, f scanFlags) error {
	// Without a tape nothing is ordered.
	shows := f.order.Subject == "" && !f.all
	if !shows {
		// The manager checks the rights, and refuses an impossible order before anything moves.
		text, err := m.Tape.OrderTape(ctx, "", f.order)
		if err != nil {
			return err
		}
		if f.noWait {
			e.Say("%s", text)
			return nil
		}
	}
	// Another goroutine than the one that asks draws the line.
	var last atomic.Pointer[[]adminapi.TapeScan]
	last.Store(&[]adminapi.TapeScan{})
	stop := e.Follow(func() string { return scanLine(*last.Load()) })
	scans, err := awaitScans(ctx, m, hemera.VID(f.order.Subject), func(scans []adminapi.TapeScan) bool {
		last.Store(&scans)
		return shows
	})
	stop()
	if err != nil {
		return err
	}
	return printScans(e, scans, f)
}

// awaitScans returns the scans of a tape, or of all, when they have ended or enough returns true. Ctrl-C ends the wait,
// not the scans.
func awaitScans(ctx context.Context, m *admin.Client, vid hemera.VID, enough func([]adminapi.TapeScan) bool) ([]adminapi.TapeScan, error) {
	for {
		// A restarted manager has forgotten its scans; the user has to order them again.
		p, err := m.Tape.TapePicture(ctx)
		if err != nil {
			return nil, err
		}
		// Other users may have ordered scans of other tapes.
		scans := slices.DeleteFunc(p.Scans, func(s adminapi.TapeScan) bool { return vid != "" && s.VID != vid })
		going := slices.ContainsFunc(scans, func(s adminapi.TapeScan) bool { return s.Ended.IsZero() })
		if enough(scans) || !going {
			return scans, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(scanPoll):
		}
	}
}

// scanLine returns the progress line of all scans.
func scanLine(scans []adminapi.TapeScan) string {
	// The line has sums, because with --all there may be more tapes than lines on a screen.
	ended, files, bytes, at := 0, int64(0), int64(0), ""
	for _, s := range scans {
		files, bytes = files+s.Files, bytes+s.Bytes
		// The position of each drive is an fSeq, which counts down to 1.
		switch {
		case !s.Ended.IsZero():
			ended++
		case !s.Begun.IsZero() && s.FSeq > 0:
			at += fmt.Sprintf("  %s at fSeq %d", s.VID, s.FSeq)
		}
	}
	return fmt.Sprintf("%d of %d tapes scanned  %d files (%s)%s", ended, len(scans), files, output.Bytes(bytes), at)
}

// printScans prints the results of scans: a table for people, and for programs a record each, with the data that became
// no file. The exit code says whether all scans reached their end.
func printScans(e *cli.Env, scans []adminapi.TapeScan, f scanFlags) error {
	// One row a tape, whatever was found on it.
	var records []output.Record
	for _, s := range scans {
		records = append(records, scanRecord(s))
	}
	if err := e.List(scanColumns(), records, "no tape was scanned"); err != nil {
		return err
	}
	// The exit code is for scripts that use the files.
	failed := 0
	// Data that became no file is listed by name, as far as the manager keeps the names: there may be millions.
	for _, s := range scans {
		if s.Problem != "" {
			failed++
		}
		for _, one := range s.Found {
			if f.list && !e.ForPrograms() {
				fmt.Fprintf(e.Out, "%-8s %s fSeq %d  archive id %d  %s: %s\n", one.Outcome, s.VID, one.FSeq, one.ArchiveID, one.Path, one.Why)
			}
		}
	}
	// To show scans that failed is not a failure.
	if failed > 0 && (f.all || f.order.Subject != "") {
		return errs.New(errs.IO, "adminapi.TapeScan", f.order.Subject, fmt.Sprintf("%d scans did not reach the beginning of their tape", failed)).
			WithRemedy("see what is in the way, and repeat the command: what was found is there")
	}
	return nil
}

// scanRecord returns a scan as a record: sizes are bytes, and the counts of files have the names of the outcomes. why is
// empty for a scan that added its files to the catalogue.
func scanRecord(s adminapi.TapeScan) output.Record {
	// The reason depends on the state: why the scan waits, why it failed, or why it added nothing.
	state, why := "done", s.Why
	switch {
	case s.Problem != "":
		state, why = "failed", s.Problem
	case !s.Ended.IsZero():
	case s.Begun.IsZero():
		// The manager gives a reason if the scan waits for anything but a drive.
		state, why = "waits", cmp.Or(s.Why, "for a drive of its library that has nothing to do")
	default:
		state = "reads"
	}
	// Counts of a dry run look like those of a scan, so the record says which it is.
	if s.DryRun && why == "" {
		why = "a dry run: nothing was changed"
	}
	r := output.Record{{Key: "vid", Value: string(s.VID)}, {Key: "state", Value: state}, {Key: "drive", Value: s.Drive}, {Key: "files", Value: s.Files}, {Key: "bytes", Value: s.Bytes}}
	for _, o := range scanOutcomes() {
		r = append(r, output.Field{Key: string(o), Value: s.Counts[o]})
	}
	// Programs get all that the manager keeps; people ask for it with --list.
	var found []output.Record
	for _, one := range s.Found {
		found = append(found, output.Record{{Key: "outcome", Value: string(one.Outcome)}, {Key: "fSeq", Value: one.FSeq}, {Key: "member", Value: one.Member},
			{Key: "archiveId", Value: one.ArchiveID}, {Key: "size", Value: one.Size}, {Key: "path", Value: one.Path}, {Key: "why", Value: one.Why}})
	}
	return append(r, output.Field{Key: "dryRun", Value: s.DryRun}, output.Field{Key: "why", Value: why}, output.Field{Key: "found", Value: found})
}

// scanOutcomes returns the outcomes in the order of the table.
func scanOutcomes() []tapeapi.Outcome {
	return []tapeapi.Outcome{tapeapi.TookKnown, tapeapi.TookCopy, tapeapi.TookMade, tapeapi.TookLost, tapeapi.TookDead, tapeapi.TookDiffers, tapeapi.TookNot}
}

// scanColumns returns the table of scans.
func scanColumns() []output.Column {
	columns := []output.Column{{Title: "vid", Key: "vid"}, {Title: "state", Key: "state"}, {Title: "files", Key: "files"}}
	// The titles are those that the help explains.
	for _, o := range scanOutcomes() {
		columns = append(columns, output.Column{Title: string(o), Key: string(o)})
	}
	return append(columns, output.Column{Title: "why", Key: "why"})
}

// undeleteCommand makes `hemera tape undelete`. The order is complete when the manager answers, because no tape has to be
// mounted.
func undeleteCommand(e *cli.Env) *cobra.Command {
	c := orderCommand(e, adminapi.OrderUndelete, "undelete <archive id|path|vid>", "Bring a removed or replaced file back that is still on tape", cobra.ExactArgs(1))
	c.Long = `Makes a file of a removed content again, at the path that it had: on tape only, with its owner, mode, time,
checksums and archive id. A tape keeps what was removed until it is reclaimed; "hemera tape tape files VID
--removed" lists it. Of several contents that a path had it is the one that was removed last. Where the path
is taken, --to says another one.

With --tape all files of a tape come back that a scan found, that no directory has, and whose removal nobody
knows: so it is after the namespace went back to an older state. Those whose path is taken or not known are
in /lost+found/tape/VID.`
	c.Example = `  hemera tape undelete /exp/run1/data.root
  hemera tape undelete 4711 --to /exp/run1/data.root.old
  hemera tape undelete 4711 --dry-run
  hemera tape undelete --tape V00001`
	return c
}
