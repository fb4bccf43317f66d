package measuring

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"hemera/words/errs"
)

// leaveTime is the time that a stopped measurement has to remove its files.
const leaveTime = 30 * time.Second

// complaintMax bounds the part of a measurement's standard error that is kept, in bytes.
const complaintMax = 4096

// Runner runs measurements of this machine.
type Runner struct {
	Executable string          // hemera
	Disks      func() []string // the directories of the node's disks
	Manager    func() string   // address at which the node reaches its manager: host:port
}

// Run runs one measurement until its end or that of ctx, and returns its JSON result. It fails with Denied for commands
// that [Plan] refuses.
func (r *Runner) Run(ctx context.Context, command []string) ([]byte, error) {
	dir, err := os.MkdirTemp("", "hemera-measure-")
	if err != nil {
		return nil, errs.Wrap(err, "measuring.Run", "")
	}
	defer func() { _ = os.RemoveAll(dir) }()
	args, leaves, err := Plan(command, r.Disks(), r.Manager(), dir)
	if err != nil {
		return nil, err
	}
	var complaint tail
	c := exec.CommandContext(ctx, r.Executable, args...) // #nosec G204 -- this program itself, with words that Plan knows
	c.Stderr = &complaint
	// The measurement then removes its files and keeps its results. The signal is not SIGINT: programs that a shell
	// starts in the background ignore that, and so do their children.
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = leaveTime
	// An interrupt of the node in a terminal must not reach the measurement: ctx ends it.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Env = environment()
	if err := c.Run(); err != nil && ctx.Err() == nil {
		return nil, errs.New(errs.Internal, "measuring.Run", strings.Join(command, " "), complaint.last(err))
	}
	if err := ctx.Err(); err != nil {
		return nil, errs.Wrap(err, "measuring.Run", strings.Join(command, " "))
	}
	data, err := os.ReadFile(leaves) // #nosec G304 -- within the directory that was made above
	return data, errs.Wrap(err, "measuring.Run", strings.Join(command, " "))
}

// environment returns the variables of the node that a measurement gets: it can find programs, and gets no secrets.
func environment() []string {
	var list []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG"} {
		if value, ok := os.LookupEnv(name); ok {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// tail keeps the end of the text written to it.
type tail struct{ text []byte }

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if n := len(t.text) - complaintMax; n > 0 {
		t.text = t.text[n:]
	}
	return len(p), nil
}

// last returns the last line, or the text of err if there is none.
func (t *tail) last(err error) string {
	text := bytes.TrimSpace(t.text)
	if i := bytes.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	if len(text) == 0 {
		return err.Error()
	}
	return string(text)
}
