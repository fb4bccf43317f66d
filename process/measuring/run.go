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

// leaveTime is how long a measurement that is stopped may remove what it made.
const leaveTime = 30 * time.Second

// complaintMax bounds what is kept of the standard error of a measurement, in bytes.
const complaintMax = 4096

// Runner runs measurements of this machine.
type Runner struct {
	Executable string          // hemera
	Disks      func() []string // the directories of the node's disks
	Manager    func() string   // where the node reaches its manager: host:port
}

// Run runs one measurement until its end or that of ctx, and returns the JSON that it leaves. Denied for words that [Plan] refuses.
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
	// It removes what it made, and keeps what it has measured. Not SIGINT: programs that a shell starts in the background ignore that,
	// and so do theirs.
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.WaitDelay = leaveTime
	// The interruption of a node in a terminal is not one of the measurement: ctx tells.
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

// environment is what a measurement sees of the node's: programs are found, and no secret is handed on.
func environment() []string {
	var list []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG"} {
		if value, ok := os.LookupEnv(name); ok {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// tail keeps the end of what is written to it.
type tail struct{ text []byte }

// Write implements [io.Writer].
func (t *tail) Write(p []byte) (int, error) {
	t.text = append(t.text, p...)
	if n := len(t.text) - complaintMax; n > 0 {
		t.text = t.text[n:]
	}
	return len(p), nil
}

// last is the last line, or err when nothing was said.
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
