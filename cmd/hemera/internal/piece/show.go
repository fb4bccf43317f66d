package piece

import (
	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/disk"
	"hemera/platform/vfs"
)

// showCommand makes `hemera piece show`. It reads at most the last 5 KB of each file, so a whole disk can be listed.
func showCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "show <piece>...", Short: "Print what piece files say of themselves", Args: cobra.MinimumNArgs(1),
		Long: `Prints the footer of each piece: the file (fxid), generation and number of the piece, the layout and
its block size, the sizes of the piece and of the whole file, when the piece was made, the checksums of
the whole file, and the path it had. Pages are not read; see hemera piece verify.

A file that is no piece, or was cut, is named on standard error; the exit code is 1 then.`,
		Example: `  hemera piece show /disk1/0/0000002a.1.0
  hemera piece show -m /disk?/*/0000002a.*`,
		RunE: func(_ *cobra.Command, args []string) error { return show(e, args) },
	}
}

// showColumns has the columns of several pieces. The last columns are left out first on a narrow terminal.
var showColumns = []output.Column{
	{Title: "fxid", Key: "fxid"}, {Title: "generation", Key: "generation"}, {Title: "no", Key: "no"}, {Title: "layout", Key: "layout"},
	{Title: "size", Key: "size"}, {Title: "filesize", Key: "filesize"}, {Title: "sealed", Key: "sealed", Show: output.Time, Wide: 1}, {Title: "path", Key: "path"},
	{Title: "file", Key: "file", Wide: 2},
}

// show prints the footers of all pieces. Every path gets a line or an error: a pattern of the shell may match files that
// are no pieces.
func show(e *cli.Env, paths []string) error {
	var failed error // the last one; those before it are printed at once
	var records []output.Record
	for _, path := range paths {
		p, err := disk.OpenPieceFile(vfs.OS{}, path)
		if err != nil {
			// Each is printed; the last one is also the result, with its exit code.
			if failed != nil {
				e.Complain(failed)
			}
			failed = err
			continue
		}
		records = append(records, record(path, p.Stat()))
		_ = p.Close() // it was only read
	}
	// The footers that could be read are printed in any case, before the error.
	if err := printFooters(e, records, len(paths) == 1, failed != nil); err != nil {
		return err
	}
	return failed
}

// printFooters prints one piece with all its fields, several as a table. The form does not depend on failures: if only
// one of several could be read, it is still a row.
func printFooters(e *cli.Env, records []output.Record, one, failed bool) error {
	switch p := e.Printer(); {
	case e.ForPrograms():
		// A stream, because only an error within one is part of its JSON object.
		s := e.Stream(nil)
		for _, r := range records {
			if err := s.Add(r); err != nil {
				return err
			}
		}
		if failed {
			return nil // the error ends the stream
		}
		return s.Close()
	case len(records) == 0:
		return nil
	case one:
		// The suffix of the key has no unit of its own, as others have.
		columns := cli.ColumnsOf(records[0])
		for i := range columns {
			if columns[i].Key == "sealed" {
				columns[i].Show = output.Time
			}
		}
		return p.One(columns, records[0])
	default:
		return p.List(showColumns, records)
	}
}
