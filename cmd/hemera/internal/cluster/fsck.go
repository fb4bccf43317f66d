package cluster

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hemera/client/admin"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// FsckCommand makes `hemera fsck`, the comparison of the namespace with the disks. Both verbs run the same comparison at
// the manager; repair also repairs its findings.
func FsckCommand(e *cli.Env) *cobra.Command {
	report := &cobra.Command{
		Annotations: cli.GivesVerdict(),
		Use:         "report", Short: "What does not agree between the namespace and the disks", Args: cobra.NoArgs,
		Long: `Compares the namespace with what the disks hold and counts what does not agree; it changes
nothing:

  missing            a piece of an entry is not on its disk
  orphan             a sealed piece that belongs to no entry
  under_replicated   fewer pieces than the layout asks for
  size_mismatch      a piece's length differs from its entry's
  kept               a piece says that it was not committed; it could not be reached then
  lost               a file has too few pieces on disks of the cluster, its last is missing, or every
                     one is known to be bad (what reads and scrubs found; this reads no data)
  offline            a piece is on a disk that cannot be asked now
  newer              a piece of a change made after the backup that was restored: it is kept,
                     and ns rebuild --merge may make a file of it
  moved              a piece that was moved after that backup
  tape_unreadable    a file is on tape only, and none of its tapes can be read
  busy               a piece that no entry has, of a file that is being moved or repaired all the
                     time: not judged. Ask again; the manager looks again in minutes

Pieces are those on disks that answer. Pieces of replaced and removed content that are held or on their way out, and
pieces of no file that are too young to judge, are no problem: they are said below the sums.

A healthy cluster prints that everything agrees. The exit code is 0 then, 1 when something
was found, 3 when nothing could be compared, or the command line is wrong.`,
		Example: `  hemera fsck report
  hemera fsck report -a -i                       by disk, with file ids
  hemera fsck report -l                          a line for each file, with its path
  hemera fsck report --error missing,orphan -j`,
	}
	repair := &cobra.Command{
		Use: "repair", Short: "Compare, and repair what can be repaired", Args: cobra.NoArgs,
		Long: `Compares as fsck report does, prints what it found, and repairs what can be repaired, as the
manager does when it audits a disk, every 7 days:

  missing            forgotten if the file has other pieces, and made again from them
  orphan             removed, once it has been known for some minutes and is old enough
  under_replicated   repaired: the missing pieces are made
  kept               made again from the file's other pieces
  moved              recorded where it is

It does nothing about size_mismatch (see hemera file verify), offline and newer.`,
		Example: `  hemera fsck repair
  hemera fsck repair -l`,
	}
	c := cli.Noun("fsck", "Consistency: compare the namespace with the disks", fsckCommand(e, report, false), fsckCommand(e, repair, true))
	c.Long = `The namespace says which pieces are on which disks. These commands ask the disks and compare. The
manager does the same for each disk every 7 days.`
	c.Example = `  hemera fsck report        what does not agree?
  hemera fsck repair        repair what can be repaired`
	return c
}

// fsckCommand gives a verb of fsck its flags and its work. Only the flag repair distinguishes the verbs. The comparison
// asks every disk for its whole list, so it may take minutes in a large cluster.
func fsckCommand(e *cli.Env, c *cobra.Command, repair bool) *cobra.Command {
	var o fsckOptions
	c.RunE = func(c *cobra.Command, _ []string) error {
		// Tags are checked before the expensive comparison.
		for _, tag := range o.tags {
			if !slices.Contains(fsckTags, tag) {
				return cli.Usage(errs.New(errs.Invalid, "hemera.Fsck", tag, "there is no such tag").WithRemedy("known are " + strings.Join(fsckTags, ", ")))
			}
		}
		return e.Ask(c, func(ctx context.Context, m *admin.Client) error {
			report, err := m.Maint.Fsck(ctx, repair)
			if err != nil {
				return err
			}
			if err := printFsck(e, report, o); err != nil {
				return err
			}
			tellSums(e, report)
			tellNewer(e, report)
			if repair || len(fsckRecords(report, o)) == 0 {
				return nil
			}
			// repair gives no verdict: it has done what can be done.
			return cli.NewVerdict(cli.ExitWarning)
		})
	}
	// The short flags are those of eos fsck report.
	c.Flags().BoolVarP(&o.perDisk, "all", "a", false, "by disk")
	c.Flags().BoolVarP(&o.ids, "ids", "i", false, "with the ids of files, as fxid")                             // those that the manager names
	c.Flags().BoolVarP(&o.list, "list", "l", false, "each file on a line of its own, with disk, fxid and path") // in place of the counts
	c.MarkFlagsMutuallyExclusive("list", "all")
	c.MarkFlagsMutuallyExclusive("list", "ids")
	c.Flags().StringSliceVar(&o.tags, "error", nil, "only these tags")
	_ = c.RegisterFlagCompletionFunc("error", cobra.FixedCompletions(fsckTags, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// tellSums tells people on standard error what the sums of a report include and leave out.
func tellSums(e *cli.Env, report adminapi.FsckReport) {
	if e.ForPrograms() {
		return
	}
	if n := report.Recycled.Files; n > 0 {
		fmt.Fprintf(e.Err, "  not among the files, but their pieces are compared: %s in recycle bins\n", output.Count(n, "file"))
	}
	var parts []string
	if report.Leaving > 0 {
		parts = append(parts, fmt.Sprintf("%d of replaced or removed content, held for readers or on their way out", report.Leaving))
	}
	if report.Young > 0 {
		parts = append(parts, fmt.Sprintf("%d of no file, not judged before they are %s old, as writes under way have such", report.Young, output.Seconds(report.YoungAge.Seconds())))
	}
	if len(parts) > 0 {
		fmt.Fprintln(e.Err, "  of the pieces on disks: "+strings.Join(parts, "; "))
	}
}

// tellNewer tells people on standard error why pieces may be newer than the namespace, and the remedy.
func tellNewer(e *cli.Env, report adminapi.FsckReport) {
	if e.ForPrograms() || report.WentBack.Restored.IsZero() {
		return
	}
	fmt.Fprintf(e.Err, "hemera: %s\n  %s\n", report.WentBack.Text(), report.WentBack.Remedy())
	if slices.ContainsFunc(report.Problems, func(p adminapi.FsckProblem) bool { return p.Tag == "newer" }) {
		fmt.Fprintln(e.Err, "  newer is nothing to repair: the pieces are safe where they are")
	}
}

// fsckTags has the possible findings of a comparison, with EOS's words where EOS has one. Programs test them, so a tag
// never changes.
var fsckTags = []string{"missing", "orphan", "under_replicated", "size_mismatch", "kept", "offline", "lost", "newer", "moved", "tape_unreadable", "busy"}

// fsckOptions has the flags of fsck report. They choose what is printed; the comparison is the same. repair repairs
// everything, whatever is printed.
type fsckOptions struct {
	perDisk, ids, list bool
	tags               []string // of fsckTags; none: all
}

// printFsck prints a report and returns the verdict. The columns follow the flags, as in EOS. Without findings it prints
// a sentence for people, and no record for programs.
func printFsck(e *cli.Env, report adminapi.FsckReport, o fsckOptions) error {
	columns := []output.Column{{Title: "timestamp", Key: "timestamp", Show: output.Time}, {Title: "tag", Key: "tag"}}
	if o.perDisk {
		columns = append(columns, output.Column{Title: "disk", Key: "fsid"}) // the number of the disk
	}
	columns = append(columns, output.Column{Title: "count", Key: "count"})
	if o.ids {
		columns = append(columns, output.Column{Title: "fxid", Key: "fxid"})
	}
	records := fsckRecords(report, o)
	p := e.Printer()
	if p.Format == output.Table && len(records) == 0 {
		// With --error only the named tags were considered, so the sentence names them.
		verdict := "everything agrees"
		if len(o.tags) > 0 {
			verdict = "no " + strings.Join(o.tags, ", no ")
		}
		_, err := fmt.Fprintf(e.Out, "%s, %s: %s\n", output.Count(report.Files, "file"), output.Count(report.Pieces, "piece"), verdict)
		return err
	}
	if o.list {
		return listFsck(e, records, unlisted(report, o))
	}
	return p.List(columns, records)
}

// listFsck prints one file on each line, and the number of files that the report leaves out, on standard error, so that
// the list can be piped.
func listFsck(e *cli.Env, records []output.Record, more int64) error {
	if err := e.Printer().List(fsckListColumns, records); err != nil {
		return err
	}
	if more > 0 {
		fmt.Fprintf(e.Err, "hemera: %s more; --error TAG lists one kind, hemera fs files N what a disk holds\n", output.Count(more, "file"))
	}
	return nil
}

// fsckListColumns has the columns of --list: one file on each line.
var fsckListColumns = []output.Column{
	{Title: "tag", Key: "tag"},                 // what does not agree; see the help of report
	{Title: "disk", Key: "fsid", Show: noZero}, // none if it is about no single disk
	{Title: "fxid", Key: "fxid"},
	{Title: "path", Key: "path"},
}

// noZero shows disk 0, of a problem that concerns no single disk, as nothing. Keys for programs keep the 0.
func noZero(v any) string {
	if v == uint32(0) {
		return ""
	}
	return fmt.Sprint(v)
}

// unlisted returns the number of files that the report counts without their names: the manager names a bounded number.
func unlisted(report adminapi.FsckReport, o fsckOptions) (more int64) {
	for _, p := range report.Problems {
		if o.wants(p) {
			more += p.Count - int64(len(p.Files))
		}
	}
	return more
}

// wants reports whether the user requested problems of this tag; without --error all.
func (o fsckOptions) wants(p adminapi.FsckProblem) bool {
	return len(o.tags) == 0 || slices.Contains(o.tags, p.Tag)
}

// fsckFiles makes a record of each named file of each problem. A file with two problems has two records. The manager
// names a bounded number of paths; beyond it a path is empty.
func fsckFiles(report adminapi.FsckReport, o fsckOptions) (out []output.Record) {
	for _, p := range report.Problems {
		if !o.wants(p) {
			continue
		}
		for _, id := range p.Files {
			out = append(out, output.Record{
				{Key: "timestamp", Value: cli.Unix(report.Taken)}, {Key: "tag", Value: p.Tag}, {Key: "fsid", Value: uint32(p.Disk)}, // when the comparison was made
				{Key: "fxid", Value: id.Hex()}, {Key: "path", Value: p.Paths[id]}, // as the namespace has it, else as the piece remembers it
			})
		}
	}
	return out
}

// fsckRecords makes a record of each problem; of each tag if disks are not distinguished; or of each file with --list.
// The order is that of the report.
func fsckRecords(report adminapi.FsckReport, o fsckOptions) (out []output.Record) {
	if o.list {
		return fsckFiles(report, o)
	}
	merged := map[string]*adminapi.FsckProblem{}
	var order []*adminapi.FsckProblem
	for _, p := range report.Problems {
		if !o.wants(p) {
			continue
		}
		// A report has a problem for each tag and disk.
		if into := merged[p.Tag]; into != nil && !o.perDisk {
			into.Count += p.Count
			into.Files = append(into.Files, p.Files...) // those with names; Count has all
			continue
		}
		merged[p.Tag] = &p // p is a copy for this iteration
		order = append(order, &p)
	}
	for _, p := range order {
		r := output.Record{{Key: "timestamp", Value: cli.Unix(report.Taken)}, {Key: "tag", Value: p.Tag}}
		if o.perDisk {
			r = append(r, output.Field{Key: "fsid", Value: uint32(p.Disk)})
		}
		r = append(r, output.Field{Key: "count", Value: p.Count})
		if o.ids {
			// One field with commas: the keys of a record are fixed, and the number of files is not.
			hex := make([]string, len(p.Files))
			for i, f := range p.Files {
				hex[i] = f.Hex()
			}
			r = append(r, output.Field{Key: "fxid", Value: strings.Join(hex, ",")})
		}
		out = append(out, r)
	}
	return out
}
