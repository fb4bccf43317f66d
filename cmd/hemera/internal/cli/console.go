package cli

import (
	"cmp"
	"fmt"
	"io"
	"time"

	"hemera/cmd/hemera/internal/output"
)

// Console has a command's streams, the devices behind them, and the form of output that the user chose. It is not safe
// for concurrent use, except where a method says otherwise.
type Console struct {
	In       io.Reader           // standard input
	Out, Err io.Writer           // standard output and standard error
	Getenv   func(string) string // as os.Getenv
	// Terminal is the width of the terminal of Out. 0: Out is not a terminal and gets no colours.
	Terminal int
	// Asks states that a person can answer questions: In and Err are a terminal.
	Asks bool
	// Live states that Err is a terminal, on which a progress line may be redrawn.
	Live bool
	// LiveWidth returns the present width of that terminal. nil or 0: unknown.
	LiveWidth func() int

	monitor, json bool          // -m, -j
	verbose       bool          // --verbose: print errors whole
	silent        bool          // -s before the command: no reports of what was done
	columns       output.Choice // --columns

	open *output.Stream // the current stream of records; an error ends it
}

// ForPrograms reports whether a program reads the output: -m or -j.
func (c *Console) ForPrograms() bool { return c.json || c.monitor }

// Verbose reports whether the user wants more information: --verbose.
func (c *Console) Verbose() bool { return c.verbose }

// Printer returns a new printer of the form that the user chose. All share the choice of columns.
func (c *Console) Printer() output.Printer {
	p := output.Printer{W: c.Out, Colour: c.Colour(), Terminal: c.Terminal > 0, Width: c.Terminal, Choice: &c.columns, Show: unitOf}
	switch {
	case c.json:
		p.Format = output.JSON
	case c.monitor:
		p.Format = output.Monitor
	}
	return p
}

// List prints records as a table. If there are none, a person gets the sentence none.
func (c *Console) List(columns []output.Column, records []output.Record, none string) error {
	p := c.Printer()
	if p.Format == output.Table && len(records) == 0 {
		// An empty table has no columns, so --columns is no mistake then.
		c.columns.Used = true
		c.Say("%s", none)
		return nil
	}
	return p.List(columns, records)
}

// ListAll does the same as List for a command that has done only a part of its work: failed is the error about the rest,
// and is returned. Programs get the records and the error in one answer.
func (c *Console) ListAll(columns []output.Column, records []output.Record, none string, failed error) error {
	if failed == nil || c.Printer().Format != output.JSON {
		return cmp.Or(c.List(columns, records, none), failed)
	}
	s := c.Stream(nil)
	for _, r := range records {
		if err := s.Add(r); err != nil {
			return err
		}
	}
	return failed
}

// Stream starts a stream of records. If a command fails before it closes the stream, the error ends the stream. A command
// has at most one open stream.
func (c *Console) Stream(line func(output.Record) string) *output.Stream {
	c.open = c.Printer().Stream(line)
	return c.open
}

// Say tells a person what was done. With -m it prints nothing, with -j an empty result list, because the exit code is
// enough for programs. A command calls it once: with -j every call would print an object.
func (c *Console) Say(format string, args ...any) {
	switch {
	case c.json:
		_ = c.Printer().List(nil, nil)
	case !c.monitor && !c.silent:
		fmt.Fprintln(c.Out, c.Visible(fmt.Sprintf(format, args...)))
	}
}

// Done ends a command without output. With -j it prints an empty result list.
func (c *Console) Done(err error) error {
	if err != nil || !c.json {
		return err
	}
	return c.Printer().List(nil, nil)
}

// Visible returns a text in a form that cannot control a terminal. A pipe gets the text unchanged.
func (c *Console) Visible(s string) string {
	if c.Terminal > 0 {
		return output.Visible(s)
	}
	return s
}

// OutWidth returns the longest line that may be redrawn on Out, in characters. The last column stays free, because some
// terminals wrap a full line. It returns 79 for terminals of unknown width.
func (c *Console) OutWidth() int {
	if c.Terminal > 1 {
		return c.Terminal - 1
	}
	return 79
}

// ErrWidth returns the longest line that may be redrawn on Err. It changes when the user resizes the window.
func (c *Console) ErrWidth() int {
	if c.LiveWidth != nil {
		if n := c.LiveWidth(); n > 1 {
			return n - 1
		}
	}
	return c.OutWidth()
}

// Colour reports whether Out may have colours.
func (c *Console) Colour() bool { return c.Terminal > 0 && c.MayColour() }

// MayColour reports whether colours are allowed: not with NO_COLOR (see no-color.org) or a dumb terminal.
func (c *Console) MayColour() bool { return c.Getenv("NO_COLOR") == "" && c.Getenv("TERM") != "dumb" }

// ClearLine moves to the start of a terminal's line and erases it.
const ClearLine = "\r\x1b[K"

// followTick is the interval at which a progress line is drawn: fast enough for the eye, and cheap, also over ssh.
const followTick = time.Second / 4

// Follow redraws a progress line on Err, if that is a terminal, until the caller calls the returned function, which
// erases the line and waits for the goroutine that draws. line is called in another goroutine. The caller calls the
// function exactly once.
func (c *Console) Follow(line func() string) (stop func()) {
	if !c.Live {
		return func() {}
	}
	// One channel tells the goroutine to stop, the other tells the caller that the line is erased.
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticker := time.NewTicker(followTick)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				_, _ = io.WriteString(c.Err, ClearLine+Cut(line(), c.OutWidth()))
			case <-end:
				_, _ = io.WriteString(c.Err, ClearLine)
				return
			}
		}
	}()
	return func() { close(end); <-ended }
}
