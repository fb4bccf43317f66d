package ns

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/process/backup"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// rebuildOptions has the flags of ns rebuild. Dry-run is a separate flag and not a Consent: a rebuild destroys nothing,
// so there is no question.
type rebuildOptions struct {
	adminapi.RebuildOptions        // for the manager; Mode is set from mode
	mode, umask             string // octal
	list                    bool   // print each finding on a line
}

// nsRebuildCommand makes `hemera ns rebuild`, with its verbs prepare and finish. Without a verb it does the work, because
// an admin repeats that.
func nsRebuildCommand(e *cli.Env) *cobra.Command {
	var o rebuildOptions
	c := &cobra.Command{
		Annotations: cli.GivesVerdict(),
		Use:         "rebuild", Short: "Make the namespace again from the pieces on the disks, when no backup is left", Args: cobra.NoArgs,
		Long: `For the day on which the manager's state is gone, and all backups with it. The pieces on the disks know
the content of each file, its path when they were made, size, checksums, layout, owner and mode. In this order:

  hemera ns rebuild prepare DIR    an empty state, in which no id is used twice; then start the manager
  hemera node ls                   let the nodes come back, with their disks
  hemera ns rebuild --dry-run      what would be made
  hemera ns rebuild                make it: this may be interrupted, and repeated as often as disks come
  hemera ns rebuild finish         clients may write again

Until finish, clients change nothing, what they do not find is "not available now", and nothing is
repaired, drained or audited. Nothing is removed from disks.

Of two contents of a file the newest that can be read counts, and of two files with one path the newer
one; the other goes to /lost+found, by its id. So does a file without a good path, or with too few
pieces. What is found is counted by tag:

  conflict     two files of one path            unreadable   too few pieces were found
  nameless     no good path is known            older        pieces of an older content
  part         the name of an unfinished copy   differs      pieces that do not agree
  unknown      made by a later version          beyond       the clock was wrong at prepare
  failed       the file could not be made       kept         nobody closed it: it is kept for a person

Owner and mode are those of the write. A file that chmod made private later is open again; --umask 0077 closes
all files to others than their owners. Clients may read before finish.

Pieces do not know: renames, empty files and directories, attributes, quotas, and what was removed a
short time ago or is in a recycle bin, which comes back. hemera cp writes large files as .NAME.hemera-part and renames them: --parts gives
them their names, unfinished ones too.

After ns restore of an old backup, --merge adds the files that were written since.

What no file has stays on the disks, and fsck names it "newer": hemera ns rebuild forget has it removed.

The exit code is 1 when a disk could not be read, or a file could not be made.`,
		Example: `  hemera ns rebuild --dry-run
  hemera ns rebuild
  hemera ns rebuild --list > findings.txt
  hemera ns rebuild --mode 0644 --parts`,
		RunE: func(c *cobra.Command, _ []string) error { return rebuild(c, e, o) },
	}
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "change nothing, and say what would be done with each file alone: two of one path count as made")
	c.Flags().BoolVar(&o.Merge, "merge", false, "add to a namespace that has files")
	c.Flags().BoolVar(&o.Parts, "parts", false, "give files named .NAME.hemera-part the name NAME")
	c.Flags().StringVar(&o.mode, "mode", "0600", "of files whose pieces do not know theirs, octal; they belong to root")
	c.Flags().StringVar(&o.umask, "umask", "0", "bits that files do not get although their pieces know them, octal; 0077 leaves files to their owners")
	c.Flags().BoolVarP(&o.list, "list", "l", false, "print a line for each finding")
	_ = c.RegisterFlagCompletionFunc("mode", cobra.FixedCompletions([]string{"0600", "0640", "0644"}, cobra.ShellCompDirectiveNoFileComp))
	c.AddCommand(rebuildPrepareCommand(e), rebuildFinishCommand(e), rebuildForgetCommand(e))
	return c
}

// rebuild requests a rebuild of the manager, and shows its progress. Ctrl-C also ends it there, and its results so far
// stay.
func rebuild(c *cobra.Command, e *cli.Env, o rebuildOptions) error {
	mode, err := strconv.ParseUint(o.mode, 8, 32)
	if err != nil || mode == 0 || mode > 0o777 {
		return cli.Usage(errs.New(errs.Invalid, "hemera.Rebuild", o.mode, "is no mode").WithRemedy("write it in octal: 0600, 0644"))
	}
	umask, err := strconv.ParseUint(o.umask, 8, 32)
	if err != nil || umask > 0o777 {
		return cli.Usage(errs.New(errs.Invalid, "hemera.Rebuild", o.umask, "is no umask").WithRemedy("write it in octal: 0077, 0027"))
	}
	o.Mode, o.Umask = uint32(mode), uint32(umask)
	return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
		// Another goroutine draws the line than the one that receives reports.
		var last atomic.Pointer[adminapi.RebuildReport]
		last.Store(&adminapi.RebuildReport{}) // the line may be drawn before the first report
		stop := e.Follow(func() string { return rebuildLine(*last.Load()) })
		findings := e.Stream(findingLine)
		report, err := m.Rebuild.Rebuild(ctx, o.RebuildOptions, func(r adminapi.RebuildReport) error {
			last.Store(&r)
			return addFindings(e, findings, r.Findings, o.list)
		})
		stop()
		if err != nil {
			return err
		}
		if err := addFindings(e, findings, report.Findings, o.list); err != nil {
			return err
		}
		return printRebuild(e, findings, report, o)
	})
}

// addFindings prints findings: for programs always, for people if they want each.
func addFindings(e *cli.Env, s *output.Stream, list []adminapi.RebuildFinding, wanted bool) error {
	if !e.ForPrograms() && !wanted {
		return nil
	}
	// The progress line must be erased before a finding.
	if e.Live && len(list) > 0 {
		fmt.Fprint(e.Err, cli.ClearLine)
	}
	// A stream and not a list, because there may be millions, and they come during the work.
	for _, f := range list {
		if err := s.Add(output.Record{
			{Key: "tag", Value: f.Tag}, {Key: "fxid", Value: f.File.Hex()}, {Key: "generation", Value: uint64(f.Gen)}, {Key: "pieces", Value: f.Pieces},
			{Key: "path", Value: f.Path}, {Key: "at", Value: f.At}, {Key: "why", Value: f.Why},
		}); err != nil {
			return err
		}
	}
	return nil
}

// findingLine returns the line of a finding for a person. The tag comes first, so that a list can be sorted and searched
// by it.
func findingLine(r output.Record) string {
	line := fmt.Sprintf("%-10s fxid:%s  %s", r.Get("tag"), r.Get("fxid"), r.Get("path"))
	// The path on the disks and that in the namespace differ for most findings.
	if at := r.Get("at"); at != "" && at != r.Get("path") {
		line += fmt.Sprintf("  is at %s", at)
	}
	if why := r.Get("why"); why != "" {
		line += fmt.Sprintf(": %s", why)
	}
	return line
}

// rebuildLine returns the progress line. PiecesTotal is the count of the nodes, which is too low for a while after their
// start.
func rebuildLine(r adminapi.RebuildReport) string {
	rate := float64(r.Pieces) / max(r.Took.Seconds(), 1e-3)
	b := fmt.Sprintf("%s  %d of about %d pieces  %.0f/s  %d of %d disks read", cli.Bar(min(100, cli.Percent(r.Pieces, max(r.PiecesTotal, 1))), 24),
		r.Pieces, r.PiecesTotal, rate, r.DisksRead, r.Disks)
	if left := r.PiecesTotal - r.Pieces; left > 0 && rate > 0 {
		b += "  " + output.Seconds(float64(left)/rate) + " to go"
	}
	return b
}

// printRebuild prints the result, and returns the verdict. For programs the report is the last record, after all
// findings: it is the only one without a tag.
func printRebuild(e *cli.Env, findings *output.Stream, r adminapi.RebuildReport, o rebuildOptions) error {
	if e.ForPrograms() {
		if err := findings.Add(rebuildRecord(r)); err != nil {
			return err
		}
		if err := findings.Close(); err != nil {
			return err
		}
		return rebuildVerdict(r)
	}
	// A dry run prints the same line, so that both can be compared.
	made := "made"
	if o.DryRun {
		made = "would be made"
	}
	fmt.Fprintf(e.Out, "%s of %s: %s %s (%s), %d in /lost+found, %d completed, %d renewed, %d moved, %d were there  (%s)\n",
		output.Count(r.Pieces, "piece"), output.Count(int64(r.DisksRead), "disk"), output.Count(r.Made, "file"), made, output.Bytes(r.Bytes),
		r.Lost, r.Grown, r.Renewed, r.Moved, r.Before, output.Seconds(r.Took.Seconds()))
	for _, tag := range slices.Sorted(maps.Keys(r.Problems)) {
		fmt.Fprintf(e.Out, "  %-10s  %d\n", tag, r.Problems[tag])
	}
	if len(r.Problems) > 0 && !o.list {
		fmt.Fprintln(e.Out, "--list prints each")
	}
	if r.Ownerless > 0 {
		fmt.Fprintf(e.Out, "no piece knows owner and mode of %s: root, %s\n", output.Count(r.Ownerless, "file"), o.mode)
	}
	if known := r.Made + r.Lost - r.Ownerless; known > 0 {
		fmt.Fprintf(e.Out, "%s %s owner and mode as they were written: a later chown or chmod is lost%s\n", output.Count(known, "file"), cli.OnOff(known == 1, "has", "have"), closing(o))
	}
	if len(r.Unread) > 0 {
		fmt.Fprintf(e.Out, "not read: disk %s; repeat the command when they are there\n", disksOf(r))
	}
	return rebuildVerdict(r)
}

// closing returns a text about how to keep private files private; "" if that was done.
func closing(o rebuildOptions) string {
	switch {
	case o.Umask != 0:
		return "\n  their modes are without " + o.umask
	case o.DryRun:
		return "\n  so a file that was made private may be open; --umask 0077 closes all to others than their owners"
	case o.Merge:
		return "\n  so a file that was made private may be open to users now"
	}
	return "\n  so a file that was made private may be open: look before ns rebuild finish"
}

// rebuildRecord returns the report for programs. Sizes are bytes, counts are of files unless their key says otherwise.
func rebuildRecord(r adminapi.RebuildReport) output.Record {
	out := output.Record{
		{Key: "disks", Value: r.DisksRead}, {Key: "unread", Value: disksOf(r)}, {Key: "pieces", Value: r.Pieces}, {Key: "files.bytes", Value: r.Bytes},
		{Key: "files.made", Value: r.Made}, {Key: "files.lost", Value: r.Lost}, {Key: "files.completed", Value: r.Grown}, {Key: "files.renewed", Value: r.Renewed},
		{Key: "files.moved", Value: r.Moved}, {Key: "files.before", Value: r.Before}, {Key: "files.ownerless", Value: r.Ownerless},
		{Key: "seconds", Value: r.Took.Seconds()},
	}
	// Every tag has a key, so that a program need not know the tags.
	for _, tag := range []string{adminapi.RebuildConflict, adminapi.RebuildNameless, adminapi.RebuildPart, adminapi.RebuildUnreadable, adminapi.RebuildOlder,
		adminapi.RebuildDiffers, adminapi.RebuildUnknown, adminapi.RebuildBeyond, adminapi.RebuildKept, adminapi.RebuildFailed} {
		out = append(out, output.Field{Key: "found." + tag, Value: r.Problems[tag]})
	}
	return out
}

// disksOf returns the disks that were not read, by id. Programs get the same text, because records have no lists.
func disksOf(r adminapi.RebuildReport) string {
	ids := make([]string, len(r.Unread))
	for i, id := range r.Unread {
		ids[i] = id.String()
	}
	return strings.Join(ids, ",")
}

// rebuildVerdict returns verdict 1 if the rebuild must be repeated, or has left something out.
func rebuildVerdict(r adminapi.RebuildReport) error {
	if len(r.Unread) > 0 || r.Problems[adminapi.RebuildFailed]+r.Problems[adminapi.RebuildBeyond] > 0 {
		return cli.NewVerdict(cli.ExitWarning)
	}
	return nil
}

// rebuildPrepareCommand makes `hemera ns rebuild prepare`. The consent is about the lost manager, as for a restore: the
// directory must be empty.
func rebuildPrepareCommand(e *cli.Env) *cobra.Command {
	var k cli.Consent
	var o backup.PrepareOptions
	c := &cobra.Command{
		Use: "prepare <dir>", Short: "Make the state directory of a manager whose namespace is rebuilt", Args: cobra.ExactArgs(1),
		Long: `Makes the state directory of a manager (its --data; of hemera up, the folder manager in it) for a
rebuild. The directory must be empty. New ids begin above all that were ever used, by the clock of this
machine, which must be right. If there is any backup, use hemera ns restore instead: it has names, owners and
attributes as they were.

With --authority, the authority.pem of the lost manager, nodes come back by themselves. Without it, each node
joins again: remove node.pem from its --data, not node.json, and start it with --join and a new token. Disks keep
their ids in both cases. Nodes of hemera up need nothing.

The lost manager must not run any more. A script gives its consent with --yes.`,
		Example: `  hemera ns rebuild prepare /var/lib/hemera
  hemera manager --data /var/lib/hemera`,
		RunE: func(c *cobra.Command, args []string) error { return prepare(c.Context(), e, k, args[0], o) },
	}
	k.Flags(c)
	c.Flags().StringVar(&o.Authority, "authority", "", "file authority.pem of the lost manager")
	return c
}

// prepare makes the directory and prints the next step.
func prepare(ctx context.Context, e *cli.Env, k cli.Consent, dir string, o backup.PrepareOptions) error {
	ok, err := e.Agree(ctx, k, "hemera.PrepareARebuild", []string{
		"the manager will have an empty namespace, and the lost one must not run any more",
		"  this machine's clock says " + time.Now().UTC().Format(time.RFC3339) + ": ids of new files begin there",
	})
	if !ok {
		return err
	}
	// Nothing is changed before the consent, not even the directory.
	b, err := backup.Prepare(ctx, dir, o)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	// The next step depends on whether nodes know the authority.
	next := "let every node join again: without its node.pem, with --join and a new token"
	if o.Authority != "" {
		// Their certificates are valid.
		next = "let the nodes come back"
	}
	s := e.Stream(func(output.Record) string {
		return fmt.Sprintf("%s is empty, and new ids begin at %d; start the manager with --data %s, %s, then run hemera ns rebuild", dir, b.To, dir, next)
	})
	if err := s.Add(output.Record{{Key: "prepare.dir", Value: dir}, {Key: "prepare.ids.from", Value: b.From}, {Key: "prepare.ids.to", Value: b.To}}); err != nil {
		return err
	}
	return s.Close()
}

// rebuildFinishCommand makes `hemera ns rebuild finish`. It asks, because from then on clients change the files found,
// and later findings are refused.
func rebuildFinishCommand(e *cli.Env) *cobra.Command {
	var k cli.Consent
	c := &cobra.Command{
		Use: "finish", Short: "End the rebuild: clients may write again", Args: cobra.NoArgs,
		Long: `Ends the state in which a prepared manager starts: clients may change the namespace, and files are
repaired and audited again. Files that lack pieces are repaired from now on, so let all nodes
come back first. Nodes and disks that come later are refused, as everywhere: a node joins again without its state,
a disk is added with hemera fs add; hemera ns rebuild --merge then adds its files.

A script gives its consent with --yes.`,
		Example: `  hemera ns rebuild finish`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				ok, err := e.Agree(ctx, k, "hemera.FinishARebuild", []string{
					"clients may write, pieces that are missing are made again, and nodes and disks that come later are refused",
				})
				if !ok {
					return err
				}
				if err := m.Rebuild.FinishRebuild(ctx); err != nil {
					return err
				}
				e.Say("the rebuild is finished: clients may write; run hemera ns backup now")
				return nil
			})
		},
	}
	k.Flags(c)
	return c
}

// rebuildForgetCommand makes `hemera ns rebuild forget`. It asks, because it is the only verb of a rebuild that can lose
// data.
func rebuildForgetCommand(e *cli.Env) *cobra.Command {
	var k cli.Consent
	var o adminapi.ForgetOptions
	c := &cobra.Command{
		Use: "forget", Short: "Forget what is still lost, so that its room is freed", Args: cobra.NoArgs,
		Long: `After a rebuild, or a restore, disks keep the pieces that no file has: older contents, files that could not
be made, changes that a backup did not have. fsck names them "newer", and nothing removes them. From this
command on they are orphans, which audits remove, and hemera fsck repair once they have been known for some minutes.

Run it when hemera ns rebuild finds nothing more that is wanted, and all disks are back. What is on a disk
that comes later is an orphan, too. Until a rebuild has read all disks, and the tapes in libraries were scanned
(hemera tape status), the command is refused. With --unmerged it first counts what a rebuild would still make, and
loses it; files of tapes that are scanned later come back by hemera tape undelete.`,
		Example: `  hemera fsck report --error newer -l
  hemera ns rebuild forget`,
		RunE: func(c *cobra.Command, _ []string) error {
			return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
				stake := []string{"every piece that no file has will be removed by audits, also of files and contents that only it has; hemera fsck report --error newer -l lists them"}
				if o.Unmerged {
					report, err := m.Rebuild.Rebuild(ctx, adminapi.RebuildOptions{DryRun: true, Merge: true}, func(adminapi.RebuildReport) error { return nil })
					if err != nil {
						return err
					}
					stake = append(stake, fmt.Sprintf("  a rebuild would make %s and renew %d; %s could not be looked at",
						output.Count(report.Made+report.Lost, "file"), report.Renewed, output.Count(int64(len(report.Unread)), "disk")))
				}
				ok, err := e.Agree(ctx, k, "hemera.ForgetWhatIsLost", stake)
				if !ok {
					return err
				}
				if err := m.Rebuild.ForgetLost(ctx, o); err != nil {
					return err
				}
				e.Say("what no file has is an orphan now; hemera fsck repair removes what is old enough")
				return nil
			})
		},
	}
	k.Flags(c)
	c.Flags().BoolVar(&o.Unmerged, "unmerged", false, "although no rebuild has read all disks, or tapes were not scanned: files that only pieces know are lost")
	return c
}
