package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hemera"
	"hemera/admin"
	"hemera/cmd/hemera/internal/output"
	"hemera/errs"
)

func fsckCommand(e *env) *cobra.Command {
	report := &cobra.Command{
		Annotations: judges,
		Use:         "report", Short: "What does not agree between the namespace and the disks", Args: cobra.NoArgs,
		Long: `Compares the namespace with what the disks hold and counts what does not agree; it changes
nothing:

  missing            an entry's piece is not on its disk
  orphan             a sealed piece that belongs to no entry
  under_replicated   fewer pieces than the layout asks for
  size_mismatch      a piece's length is not its entry's
  lost               a file has no piece on any disk of the cluster, or its last is missing
  offline            a piece is on a disk that cannot be asked now
  newer              a piece of a change made after the backup that was restored
  moved              a piece that was moved after that backup

A healthy cluster prints that everything agrees. The exit code is 0 then, 1 when something
was found, 3 when nothing could be compared, or the command line is wrong.`,
		Example: `  hemera fsck report
  hemera fsck report -a -i                       by disk, with file ids
  hemera fsck report --error missing,orphan -j`,
	}
	repair := &cobra.Command{
		Use: "repair", Short: "Compare, and put right what can be", Args: cobra.NoArgs,
		Long: `Compares as fsck report does, prints what it found, and puts right what can be, as the
manager does by itself when it audits a disk, every 7 days:

  missing            given up where the file has other pieces, and made anew
  orphan             removed, once it is known for some minutes and old enough
  under_replicated   made whole
  moved              recorded where it is

Nothing is done about size_mismatch (see hemera file verify), offline and newer.`,
		Example: `  hemera fsck repair
  hemera fsck repair -a -i`,
	}
	return noun("fsck", "Consistency: compare the namespace with the disks", e.fsckCommand(report, false), e.fsckCommand(repair, true))
}

// fsckCommand makes the command compare.
func (e *env) fsckCommand(c *cobra.Command, repair bool) *cobra.Command {
	var perDisk, ids bool
	var tags []string
	c.RunE = func(c *cobra.Command, _ []string) error {
		for _, tag := range tags {
			if !slices.Contains(fsckTags, tag) {
				return &usageError{errs.New(errs.Invalid, "fsck", tag, "there is no such tag").WithRemedy("known are " + strings.Join(fsckTags, ", "))}
			}
		}
		return e.ask(c, func(ctx context.Context, m *admin.Client) error {
			report, err := m.Fsck(ctx, repair)
			if err != nil {
				return err
			}
			o := fsckOptions{perDisk: perDisk, ids: ids, tags: tags}
			if err := e.printFsck(report, o); err != nil || repair || len(fsckRecords(report, o)) == 0 {
				return err
			}
			return &verdict{exitWarning}
		})
	}
	c.Flags().BoolVarP(&perDisk, "all", "a", false, "by disk")
	c.Flags().BoolVarP(&ids, "ids", "i", false, "with the ids of files, as fxid")
	c.Flags().StringSliceVar(&tags, "error", nil, "only these tags")
	_ = c.RegisterFlagCompletionFunc("error", cobra.FixedCompletions(fsckTags, cobra.ShellCompDirectiveNoFileComp))
	return c
}

// fsckTags are what a comparison may find.
var fsckTags = []string{"missing", "orphan", "under_replicated", "size_mismatch", "offline", "lost", "newer", "moved"}

type fsckOptions struct {
	perDisk, ids bool
	tags         []string
}

func (e *env) printFsck(report hemera.FsckReport, o fsckOptions) error {
	columns := []output.Column{{Title: "timestamp", Key: "timestamp", Show: output.Time}, {Title: "tag", Key: "tag"}}
	if o.perDisk {
		columns = append(columns, output.Column{Title: "fsid", Key: "fsid"})
	}
	columns = append(columns, output.Column{Title: "count", Key: "count"})
	if o.ids {
		columns = append(columns, output.Column{Title: "fxid", Key: "fxid"})
	}
	records := fsckRecords(report, o)
	p := e.printer()
	if p.Format == output.Table && len(records) == 0 {
		verdict := "everything agrees"
		if len(o.tags) > 0 {
			verdict = "no " + strings.Join(o.tags, ", no ")
		}
		_, err := fmt.Fprintf(e.Out, "%s, %s: %s\n", output.Count(report.Files, "file"), output.Count(report.Pieces, "piece"), verdict)
		return err
	}
	return p.List(columns, records)
}

// fsckRecords makes a record of each problem, or of each tag when disks are not told apart.
func fsckRecords(report hemera.FsckReport, o fsckOptions) (out []output.Record) {
	merged := map[string]*hemera.FsckProblem{}
	var order []*hemera.FsckProblem
	for _, p := range report.Problems {
		if len(o.tags) > 0 && !slices.Contains(o.tags, p.Tag) {
			continue
		}
		if into := merged[p.Tag]; into != nil && !o.perDisk {
			into.Count += p.Count
			into.Files = append(into.Files, p.Files...)
			continue
		}
		merged[p.Tag] = &p
		order = append(order, &p)
	}
	for _, p := range order {
		r := output.Record{{Key: "timestamp", Value: unix(report.Taken)}, {Key: "tag", Value: p.Tag}}
		if o.perDisk {
			r = append(r, output.Field{Key: "fsid", Value: uint32(p.Disk)})
		}
		r = append(r, output.Field{Key: "count", Value: p.Count})
		if o.ids {
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
