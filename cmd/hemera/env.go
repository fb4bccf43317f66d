package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"hemera/app/config"
	"hemera/cmd/hemera/internal/output"
	"hemera/doors/admin"
	"hemera/errs"
	"hemera/platform/xrootd"
)

// urlDefault is where a cluster is looked for when nothing says otherwise.
const urlDefault = "root://localhost:1094"

// env is what commands know of the world; tests make their own.
type env struct {
	In       io.Reader
	Out, Err io.Writer
	Getenv   func(string) string
	Environ  func() []string // nil: no variables are looked for
	Now      func() time.Time
	// Terminal is the width of the terminal Out is, or 0 when it is none: no colours.
	Terminal int
	// Asks says that a person can be asked: In and Err are a terminal.
	Asks bool
	// Live says that Err is a terminal, where a progress bar may move.
	Live bool
	// LiveWidth is the width of that terminal; nil or 0 is not known.
	LiveWidth func() int
	// Completion is how long a shell waits for words from the cluster; 0 is completionTimeout.
	Completion time.Duration

	// The flags every command takes.
	url           string
	monitor, json bool
	verbose       bool // errors are shown whole
	silent        bool // -s before the command
	columns       output.Choice

	misspelt sync.Once // whether HEMERA_URL is has been looked at

	told  sync.Once      // that a server cannot be reached
	begun bool           // the command line made sense
	open  *output.Stream // begun and not ended: an error is its end
}

func processEnv() *env {
	e := &env{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv, Environ: os.Environ, Now: time.Now}
	if fd := int(os.Stdout.Fd()); term.IsTerminal(fd) {
		width, _, _ := term.GetSize(fd)
		e.Terminal = cmp.Or(width, 80) // some do not know
	}
	e.Live = term.IsTerminal(int(os.Stderr.Fd()))
	e.LiveWidth = func() int {
		width, _, _ := term.GetSize(int(os.Stderr.Fd()))
		return width
	}
	e.Asks = e.Live && term.IsTerminal(int(os.Stdin.Fd()))
	return e
}

// clusterURL is --url, else HEMERA_URL, else the default. A host or host:port alone and the URL of the
// metrics mean the same cluster: all of it answers at one port.
func (e *env) clusterURL() string {
	u := cmp.Or(e.url, e.Getenv(config.URLVariable))
	if u == "" {
		e.misspelt.Do(e.warnOfURL)
		u = urlDefault
	}
	if rest, ok := strings.CutPrefix(u, "http://"); ok {
		u = rest
	}
	if !strings.Contains(u, "://") && !admin.IsSocketURL(u) {
		u = "root://" + u
	}
	return u
}

// strangers are variables of the environment that look like settings and are none.
func (e *env) strangers() []*errs.Error {
	if e.Environ == nil {
		return nil
	}
	return config.Strangers(e.Environ())
}

// warnOfURL says so when a misspelt variable sends a command to another cluster than was meant.
func (e *env) warnOfURL() {
	for _, stranger := range e.strangers() {
		if strings.Contains(stranger.Remedy, config.URLVariable) {
			fmt.Fprintf(e.Err, "hemera: %s %s: %s\n", stranger.Subject, stranger.Text, stranger.Remedy)
		}
	}
}

// manager is a client of the cluster's admin API. From another machine than the manager's it goes through the XRootD
// door, as the user that data commands are.
func (e *env) manager() (*admin.Client, error) {
	at, err := xrootd.ParseURL(e.clusterURL())
	if err != nil {
		return admin.Dial(e.clusterURL()) // which says how it is written
	}
	return admin.DialFrom(e.clusterURL(), calls{xrootd.New(xrootd.Options{Trying: e.trying}), at})
}

// calls implements admin.Caller.
type calls struct {
	*xrootd.Client
	at xrootd.URL
}

// Call implements admin.Caller.
func (c calls) Call(ctx context.Context, request []byte, answer func([]byte) error) error {
	return c.Client.Call(ctx, c.at, request, answer)
}

func (e *env) printer() output.Printer {
	p := output.Printer{W: e.Out, Colour: e.colour(), Terminal: e.Terminal > 0, Width: e.Terminal, Choice: &e.columns, Show: unitOf}
	switch {
	case e.json:
		p.Format = output.JSON
	case e.monitor:
		p.Format = output.Monitor
	}
	return p
}

// list prints a table, or for eyes a word where there is nothing to put into it.
func (e *env) list(columns []output.Column, records []output.Record, none string) error {
	p := e.printer()
	if p.Format == output.Table && len(records) == 0 {
		e.columns.Used = true
		e.say("%s", none)
		return nil
	}
	return p.List(columns, records)
}

// stream begins a stream of records. A command that fails before it closes the stream need not end
// it: the error does.
func (e *env) stream(line func(output.Record) string) *output.Stream {
	e.open = e.printer().Stream(line)
	return e.open
}

// visible is a text as a terminal may have it; a pipe gets it as it is.
func (e *env) visible(s string) string {
	if e.Terminal > 0 {
		return output.Visible(s)
	}
	return s
}

// width is how long a line that moves may be.
func (e *env) width() int {
	if e.Terminal > 1 {
		return e.Terminal - 1
	}
	return 79
}

// liveWidth is how long a line that moves on Err may be, now: windows change their size.
func (e *env) liveWidth() int {
	if e.LiveWidth != nil {
		if n := e.LiveWidth(); n > 1 {
			return n - 1
		}
	}
	return e.width()
}

// colour reports whether Out takes colours.
func (e *env) colour() bool { return e.Terminal > 0 && e.mayColour() }

// mayColour follows no-color.org: never when NO_COLOR is set, whatever its value.
func (e *env) mayColour() bool { return e.Getenv("NO_COLOR") == "" && e.Getenv("TERM") != "dumb" }
