package main

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"hemera/app/config"
	"hemera/doors/admin"
	"hemera/errs"
)

// urlDefault is the cluster of a command without --url and HEMERA_URL.
const urlDefault = "root://localhost:1094"

// env is all that a command knows about the world: the terminal, the clock, the environment and the cluster.
// Tests make their own. An env serves one command line.
type env struct {
	console
	// Build describes this program.
	Build admin.VersionInfo
	// Environ lists the variables of the environment as os.Environ does; nil stands for none.
	Environ func() []string
	Now     func() time.Time
	// Completion is the longest wait for words that a shell completes; 0 is completionTimeout.
	Completion time.Duration

	url          string    // --url
	parsed       bool      // the command line is valid, and the command's own code runs
	misspeltOnce sync.Once // the warning about a misspelt HEMERA_URL
	retryOnce    sync.Once // the notice that a server cannot be reached
}

// processEnv is the environment of this process. Build describes the program.
func processEnv(build admin.VersionInfo) *env {
	stdout, stderr := int(os.Stdout.Fd()), int(os.Stderr.Fd())
	e := &env{
		console: console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv},
		Build:   build, Environ: os.Environ, Now: time.Now,
	}
	if term.IsTerminal(stdout) {
		width, _, _ := term.GetSize(stdout)
		e.Terminal = cmp.Or(width, 80) // some terminals do not report a size
	}
	e.Live = term.IsTerminal(stderr)
	e.LiveWidth = func() int {
		width, _, _ := term.GetSize(stderr)
		return width
	}
	e.Asks = e.Live && term.IsTerminal(int(os.Stdin.Fd()))
	return e
}

// misspelt lists variables of the environment that look like settings of Hemera and are none.
func (e *env) misspelt() []*errs.Error {
	if e.Environ == nil {
		return nil
	}
	return config.Strangers(e.Environ())
}

// warnOfMisspeltURL prints a warning if a misspelt HEMERA_URL sends the command to another cluster than the user
// meant.
func (e *env) warnOfMisspeltURL() {
	for _, v := range e.misspelt() {
		if strings.Contains(v.Remedy, config.URLVariable) {
			fmt.Fprintf(e.Err, "hemera: %s %s: %s\n", v.Subject, v.Text, v.Remedy)
		}
	}
}

// leadingFlags reads the flags before the command, which scripts for EOS use, and returns the rest: -b (no colours
// and no progress), -s (no reports of what was done) and -r UID GID (act in this role). The manager identifies
// callers by their process, so -r accepts only the role that an admin has anyway, 0 0.
func (e *env) leadingFlags(args []string) ([]string, error) {
	for len(args) > 0 {
		switch args[0] {
		case "-b", "--batch":
			e.Terminal, e.Live = 0, false
		case "-s", "--silent":
			e.silent = true
		case "-r":
			if len(args) < 3 || args[1] != "0" || args[2] != "0" {
				return args, errs.New(errs.Invalid, "read role", strings.Join(args[:min(3, len(args))], " "), "only -r 0 0 is known").
					WithRemedy("to act as another user, run the command as that user: sudo -u USER hemera …")
			}
			args = args[2:]
		default:
			return args, nil
		}
		args = args[1:]
	}
	return args, nil
}
