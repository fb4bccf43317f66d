package cli

import (
	"cmp"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"hemera/process/config"
	"hemera/words/adminapi"
	"hemera/words/errs"
)

// URLDefault is the cluster of a command without --url and HEMERA_URL.
const URLDefault = "root://localhost:1094"

// Env is the environment of a command: the terminal, the clock, the environment variables and the cluster. Tests make
// their own. An Env serves one command line.
type Env struct {
	Console
	// Build describes this program.
	Build adminapi.VersionInfo
	// Environ returns the environment variables like os.Environ; nil means none.
	Environ func() []string
	Now     func() time.Time // the clock
	// Completion bounds the wait for words that a shell completes; 0 is the limit of package complete, 2 s.
	Completion time.Duration

	url          string    // --url
	parsed       bool      // the command line is valid, and the command's own code runs
	misspeltOnce sync.Once // the warning about a misspelt HEMERA_URL
	retryOnce    sync.Once // the notice that a server cannot be reached
}

// ProcessEnv returns the environment of this process. Build describes the program. It examines the three streams once.
func ProcessEnv(build adminapi.VersionInfo) *Env {
	stdout, stderr := int(os.Stdout.Fd()), int(os.Stderr.Fd())
	e := &Env{
		Console: Console{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Getenv: os.Getenv},
		Build:   build, Environ: os.Environ, Now: time.Now,
	}
	if term.IsTerminal(stdout) {
		width, _, _ := term.GetSize(stdout)
		e.Terminal = cmp.Or(width, 80) // some terminals do not report a size
	}
	e.Live = term.IsTerminal(stderr)
	// Read again before each redraw, because users resize windows.
	e.LiveWidth = func() int {
		width, _, _ := term.GetSize(stderr)
		return width
	}
	// Questions go to Err, so that the output can be piped, and answers come from In.
	e.Asks = e.Live && term.IsTerminal(int(os.Stdin.Fd()))
	return e
}

// Connect gives a tree of commands the streams of e, and the flags of all commands. It is called once, before the command
// line is parsed.
func (e *Env) Connect(root *cobra.Command) {
	root.SetIn(e.In)
	root.SetOut(e.Out)
	root.SetErr(e.Err)
	root.SetFlagErrorFunc(wrongFlag)
	flags := root.PersistentFlags()
	flags.StringVar(&e.url, "url", "", "the cluster, as root://host:port, or the manager's unix:///path (default $HEMERA_URL or "+URLDefault+")")
	flags.BoolVarP(&e.monitor, "monitor", "m", false, "one line of key=value pairs per item")
	flags.BoolVarP(&e.json, "json", "j", false, "one JSON object with a result list")
	flags.BoolVar(&e.verbose, "verbose", false, "errors with all steps that led to them, and remarks")
	flags.StringSliceVar(&e.columns.Names, "columns", nil, "only these columns of a table, by title or by key of -m, as in id,path,stat.errmsg")
	root.MarkFlagsMutuallyExclusive("monitor", "json", "columns")
}

// Misspelt returns errors for environment variables that look like settings of Hemera but are not, such as HEMERA_ULR.
// Without an environment, as in tests, it returns nil.
func (e *Env) Misspelt() []*errs.Error {
	if e.Environ == nil {
		return nil
	}
	return config.Strangers(e.Environ())
}

// warnOfMisspeltURL prints a warning if a misspelt HEMERA_URL makes the command use another cluster than the user meant.
func (e *Env) warnOfMisspeltURL() {
	for _, v := range e.Misspelt() {
		if strings.Contains(v.Remedy, config.URLVariable) {
			fmt.Fprintf(e.Err, "hemera: %s %s: %s\n", v.Subject, v.Text, v.Remedy)
		}
	}
}

// leadingFlags parses the flags before the command, which scripts for EOS use, and returns the rest: -b (no colours and
// no progress), -s (no reports of what was done) and -r UID GID (act in this role). The manager identifies callers by
// their process, so -r accepts only the role of an admin, 0 0. They are parsed here because cobra would take -r for an
// unknown flag or a flag of the command. It fails with Invalid for another role.
func (e *Env) leadingFlags(args []string) ([]string, error) {
	for len(args) > 0 {
		switch args[0] {
		case "-b", "--batch":
			e.Terminal, e.Live = 0, false
		case "-s", "--silent":
			e.silent = true
		case "-r":
			if len(args) < 3 || args[1] != "0" || args[2] != "0" {
				return args, errs.New(errs.Invalid, "hemera.ReadRole", strings.Join(args[:min(3, len(args))], " "), "only -r 0 0 is known").
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
