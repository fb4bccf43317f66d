package piece

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"hemera/client/pieces"
	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/platform/vfs"
	"hemera/words/errs"
)

// verifyCommand makes `hemera piece verify`: the check of hemera file check, for pieces without a node.
func verifyCommand(e *cli.Env) *cobra.Command {
	return &cobra.Command{
		Use: "verify <piece>...", Short: "Read piece files and check every page", Args: cobra.MinimumNArgs(1),
		Long: `Reads each piece and compares every page with its checksum. A piece that is a copy of its file is
also compared with the checksums of the whole file. Nothing is changed.

A line for each piece says ok or bad, and what is bad. The exit code is 1 when one is bad.`,
		Example: `  hemera piece verify /disk1/0/0000002a.1.0
  find /disk1 -name '*.*.*' -not -path '*/pending/*' -print0 | xargs -0 hemera piece verify -m`,
		RunE: func(c *cobra.Command, args []string) error { return verify(c.Context(), e, args) },
	}
}

// verify checks the pieces one after the other, because they are mostly on one disk.
func verify(ctx context.Context, e *cli.Env, paths []string) error {
	w := watchBytes(e, total(paths))
	defer w.end()
	s := e.Stream(verifyLine)
	bad := int64(0)
	for _, path := range paths {
		c, err := pieces.Check(ctx, vfs.OS{}, path, w.add)
		// After Ctrl-C the state of the piece is unknown.
		if ctx.Err() != nil {
			return err
		}
		// A piece that cannot be opened has no footer: its record has only the path, and zeros.
		r := record(path, c.Stat)
		var why string
		switch {
		// A failing device is as bad as a wrong page: the piece cannot be used here.
		case err != nil:
			why = errs.Reason(err, path)
			if errors.Is(err, errs.NotFound) {
				why = "there is no such file"
			}
		case len(c.BadPages) > 0:
			why = fmt.Sprintf("%s bad, the first at offset %d", output.Count(int64(len(c.BadPages)), "page"), c.BadPages[0])
		default:
			why = c.Wrong
		}
		if why != "" {
			bad++
		}
		r = append(r, output.Field{Key: "result", Value: cli.OnOff(why == "", "ok", "bad")}, output.Field{Key: "badpages", Value: len(c.BadPages)},
			output.Field{Key: "error", Value: why})
		// The progress line must be erased before the result.
		w.clear()
		if err := s.Add(r); err != nil {
			return err
		}
	}
	w.end()
	// The error ends the stream, so that the JSON is complete.
	if bad > 0 {
		return errs.New(errs.Corrupt, "hemera.VerifyPieces", "", fmt.Sprintf("%d of %s bad", bad, output.Count(int64(len(paths)), "piece"))).
			WithRemedy("other pieces of the same file may have what is bad here: hemera piece join takes each page from one that is good")
	}
	return s.Close()
}

// verifyLine returns the line of a piece for a person. The verdict comes first, so that bad ones are visible in a long
// list.
func verifyLine(r output.Record) string {
	line := fmt.Sprintf("%-4s %s", r.Get("result"), r.Get("file"))
	if why := r.Get("error"); why != "" {
		line += fmt.Sprintf(": %s", why)
	}
	return line
}

// total returns the number of bytes of the files, for progress. It includes checksums and footers (below 1 ‰), because
// the sizes of the data are not known before the files are open.
func total(paths []string) (n int64) {
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			n += info.Size()
		}
	}
	return n
}

// byteWatch shows the progress of reading or writing a known number of bytes.
type byteWatch struct {
	e       *cli.Env
	done    atomic.Int64 // bytes; another goroutine draws the line
	total   int64        // bytes
	started time.Time    // for the rate
	stop    func()       // nil when the line is erased
}

// watchBytes begins to show a progress line on a terminal.
func watchBytes(e *cli.Env, total int64) *byteWatch {
	w := &byteWatch{e: e, total: total, started: time.Now()}
	w.stop = e.Follow(w.line)
	return w
}

// add counts bytes. It does not block.
func (w *byteWatch) add(n int) { w.done.Add(int64(n)) }

// line returns the progress line. It is called in another goroutine.
func (w *byteWatch) line() string {
	done, seconds := w.done.Load(), max(time.Since(w.started).Seconds(), 1e-3)
	rate := float64(done) / seconds // the average: the tool reads from begin to end
	line := fmt.Sprintf("%s  %s of %s  %s/s", cli.Bar(cli.Percent(done, max(w.total, 1)), 24), output.Bytes(done), output.Bytes(w.total), output.Bytes(rate))
	// Files that cannot be opened were counted, and are never read: the estimate is an upper bound.
	if left := w.total - done; left > 0 && rate > 0 {
		line += "  " + output.Seconds(float64(left)/rate) + " to go"
	}
	return line
}

// clear erases the line, so that another can be printed; the next tick draws it again.
func (w *byteWatch) clear() {
	if w.e.Live && w.stop != nil {
		fmt.Fprint(w.e.Err, cli.ClearLine)
	}
}

// end erases the line for good. A second call does nothing.
func (w *byteWatch) end() {
	if w.stop != nil {
		w.stop()
		w.stop = nil
	}
}
