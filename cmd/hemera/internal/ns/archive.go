package ns

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"hemera/cmd/hemera/internal/cli"
	"hemera/cmd/hemera/internal/output"
	"hemera/platform/kv/archive"
	"hemera/words/errs"
)

// archiveWatch counts the bytes and records of an archive while it is read, and shows them on a terminal. Only the
// goroutine that reads the archive uses it.
type archiveWatch struct {
	e       *cli.Env       // for the terminal
	head    archive.Header // set when the header was read
	pairs   int64          // records so far
	bytes   int64          // of the archive so far
	started time.Time      // for the rate
	shown   time.Time      // when the line was drawn last
	ended   time.Time      // set by end
}

// watchArchive starts a watch. The clock is the machine's, because it measures only durations.
func watchArchive(e *cli.Env) *archiveWatch {
	now := time.Now()
	return &archiveWatch{e: e, started: now, shown: now}
}

// visitor returns a visitor for archive.Read that counts for the watch. It accepts every record: archive.Read itself
// verifies them.
func (w *archiveWatch) visitor() archive.Visitor {
	return archive.Visitor{
		Header: func(h archive.Header) error { w.head = h; return nil },
		Pair:   func(_, _ []byte) error { w.pairs++; return nil },
	}
}

// step counts bytes and redraws the progress line, at most five times a second. Without a terminal it only counts.
func (w *archiveWatch) step(n int) {
	w.bytes += int64(n)
	if now := time.Now(); w.e.Live && now.Sub(w.shown) > 200*time.Millisecond {
		w.shown = now
		fmt.Fprintf(w.e.Err, "\r\x1b[K%s", cli.Cut(w.line(now.Sub(w.started)), w.e.OutWidth()))
	}
}

// line returns the progress line. The header has an estimate of the number of records; without an estimate the line shows
// 100 % from the first record on.
func (w *archiveWatch) line(took time.Duration) string {
	share := min(100, cli.Percent(w.pairs, max(w.head.Pairs, 1))) // the estimate may be too low
	seconds := max(took.Seconds(), 1e-3)
	line := fmt.Sprintf("%s  %d of about %d records  %s  %s/s", cli.Bar(share, 24), w.pairs, w.head.Pairs, output.Bytes(w.bytes),
		output.Bytes(float64(w.bytes)/seconds))
	// Before one percent the estimate of the time left varies too much.
	if share > 1 {
		line += "  " + output.Seconds(seconds*(100-share)/share) + " to go"
	}
	return line
}

// end stops the clock and erases the line.
func (w *archiveWatch) end() {
	w.ended = time.Now()
	if w.e.Live {
		fmt.Fprint(w.e.Err, cli.ClearLine)
	}
}

// took returns the duration between the start and end.
func (w *archiveWatch) took() time.Duration { return w.ended.Sub(w.started) }

// counted is a writer that reports its bytes to a watch, because package archive does not report progress.
type counted struct {
	w     io.Writer // destination of the bytes; io.Discard to count only
	watch *archiveWatch
}

// Write implements io.Writer.
func (c *counted) Write(b []byte) (int, error) {
	c.watch.step(len(b))
	return c.w.Write(b)
}

// secretFile is a file that only its owner may read. It gets its name when it is complete and durable. The temporary file
// is in the directory of the target, because a link does not cross file systems. os.CreateTemp gives it mode 0600.
type secretFile struct {
	*os.File
	name string // of the target
	done bool   // the temporary name was removed
}

// newFile makes a temporary file next to the target. It fails with Exists if the target exists. It uses Lstat and not
// Stat, because a dangling symbolic link also occupies the name.
func newFile(name string) (*secretFile, error) {
	if _, err := os.Lstat(name); err == nil {
		return nil, errs.New(errs.Exists, "hemera.NsBackup", name, "there is such a file").WithRemedy("name another, or a directory")
	}
	f, err := os.CreateTemp(filepath.Dir(name), "."+filepath.Base(name)+".*.partial")
	if err != nil {
		return nil, errs.Wrap(err, "hemera.NsBackup", name)
	}
	return &secretFile{File: f, name: name}, nil
}

// publish gives the file its name, and makes the name durable. It never replaces a file. When it returns the file and its
// name survive a power failure. It is called once.
func (f *secretFile) publish() error {
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return errs.Wrap(err, "hemera.NsBackup", f.name)
	}
	// A link fails if the name exists; a rename would replace the file.
	if err := os.Link(f.Name(), f.name); err != nil {
		if errors.Is(err, os.ErrExist) {
			return errs.Wrap(err, "hemera.NsBackup", f.name)
		}
		// Not every filesystem has hard links.
		if err := os.Rename(f.Name(), f.name); err != nil {
			return errs.Wrap(err, "hemera.NsBackup", f.name)
		}
		f.done = true
	}
	// A name is durable when its directory is synced.
	dir, err := os.Open(filepath.Dir(f.name))
	if err != nil {
		return errs.Wrap(err, "hemera.NsBackup", f.name)
	}
	return errs.Wrap(errors.Join(dir.Sync(), dir.Close()), "hemera.NsBackup", f.name)
}

// abandon removes the temporary name. After publish it removes only the second name of the file. It is deferred, so it
// runs after success too. It ignores errors: at worst a file .NAME.*.partial stays.
func (f *secretFile) abandon() {
	_ = f.Close()
	if !f.done {
		_ = os.Remove(f.Name())
	}
}
