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

// archiveWatch counts the bytes and records of an archive as it passes, and shows them on a terminal.
// It is used by one goroutine, the one that reads the archive.
type archiveWatch struct {
	e       *cli.Env       // for the terminal
	head    archive.Header // set when the header was read
	pairs   int64          // records so far
	bytes   int64          // of the archive so far
	started time.Time      // for the rate
	shown   time.Time      // when the line was drawn last
	ended   time.Time      // set by end
}

// watchArchive starts the clock of a watch.
// The clock is the machine's: it measures durations only.
func watchArchive(e *cli.Env) *archiveWatch {
	now := time.Now()
	return &archiveWatch{e: e, started: now, shown: now}
}

// visitor makes archive.Read count for the watch.
// It accepts every record: archive.Read itself verifies them.
func (w *archiveWatch) visitor() archive.Visitor {
	return archive.Visitor{
		Header: func(h archive.Header) error { w.head = h; return nil },
		Pair:   func(_, _ []byte) error { w.pairs++; return nil },
	}
}

// step counts bytes and redraws the progress line, five times a second at most.
// Without a terminal it only counts.
func (w *archiveWatch) step(n int) {
	w.bytes += int64(n)
	if now := time.Now(); w.e.Live && now.Sub(w.shown) > 200*time.Millisecond {
		w.shown = now
		fmt.Fprintf(w.e.Err, "\r\x1b[K%s", cli.Cut(w.line(now.Sub(w.started)), w.e.OutWidth()))
	}
}

// line is the progress line. The header has an estimate of the number of records.
// A header without an estimate shows 100 % from the first record on.
func (w *archiveWatch) line(took time.Duration) string {
	share := min(100, cli.Percent(w.pairs, max(w.head.Pairs, 1))) // the estimate may be too low
	seconds := max(took.Seconds(), 1e-3)
	line := fmt.Sprintf("%s  %d of about %d records  %s  %s/s", cli.Bar(share, 24), w.pairs, w.head.Pairs, output.Bytes(w.bytes),
		output.Bytes(float64(w.bytes)/seconds))
	// Before one percent the estimate of the time left jumps.
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

// took is the duration between the start and end.
func (w *archiveWatch) took() time.Duration { return w.ended.Sub(w.started) }

// counted is a writer that reports its bytes to a watch.
// Package archive makes no calls of its own for progress, so bytes are counted on their way.
type counted struct {
	w     io.Writer // where the bytes go; io.Discard to count only
	watch *archiveWatch
}

// Write implements io.Writer.
func (c *counted) Write(b []byte) (int, error) {
	c.watch.step(len(b))
	return c.w.Write(b)
}

// secretFile is a file that only its owner may read. It gets its name when it is complete and on the disk.
// The temporary file is in the directory of the target, because a link does not cross file systems. os.CreateTemp
// gives it mode 0600.
type secretFile struct {
	*os.File
	name string // of the target
	done bool   // the temporary name is gone
}

// newFile makes a temporary file next to the target. It fails with Exists if the target exists.
// Lstat, not Stat: a symbolic link that leads nowhere is a name that is taken, too.
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

// publish gives the file its name, and makes the name durable. It never replaces a file.
// At its return the file and its name survive a power cut. It is called once.
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

// abandon removes the temporary name. After publish it removes only the second name of the file.
// It is deferred, so it runs after success too. Its own errors do not matter: at worst a file .NAME.*.partial stays.
func (f *secretFile) abandon() {
	_ = f.Close()
	if !f.done {
		_ = os.Remove(f.Name())
	}
}
