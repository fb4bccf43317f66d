package tool

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"hemera/words/errs"
)

const (
	// outputMax bounds one output. A run of fio with hundreds of jobs writes 1 MiB.
	outputMax = 16 << 20
	// grace is the time between SIGTERM and SIGKILL: fio completes its requests first.
	grace = 3 * time.Second
)

// Run runs the program in a directory ("" for the present one) and returns its standard output. It blocks until the
// program has ended and its output is closed.
//
// If the program fails, the error is IO with the first line of its standard error, and the output is returned too,
// because some programs report failures there. If ctx ends, the error is that of ctx. It fails with TooLarge if the
// output exceeds 16 MiB.
func (p Program) Run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	var out, text bounded
	cmd := p.Command(ctx, dir, args...)
	cmd.Stdout, cmd.Stderr = &out, &text
	err := cmd.Run()
	if cmd.Process != nil && ctx.Err() != nil {
		// Children that ignored SIGTERM, or whose parent ended first. The call fails if there are none.
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
	}
	switch {
	case ctx.Err() != nil:
		return out.kept.Bytes(), errs.Wrap(ctx.Err(), "tool.Run", p.Name)
	case out.full:
		return nil, errs.New(errs.TooLarge, "tool.Run", p.Name, "it wrote more than 16 MiB")
	case err != nil:
		return out.kept.Bytes(), p.failure(err, text.kept.String())
	}
	return out.kept.Bytes(), nil
}

// Command returns the command for the program, for callers that read its output while it runs. It has a process group of
// its own, which gets SIGTERM when ctx ends.
func (p Program) Command(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, p.Path, args...) // #nosec G204 -- a program that makes load, with arguments of this process
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	// Pdeathsig is not used: it follows the thread that started the child, which Go may end at any time.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = grace
	return cmd
}

// failure returns the error of a program that failed.
func (p Program) failure(err error, stderr string) error {
	// The program's own reason is more useful than its exit code.
	text := firstLine(stderr)
	var exit *exec.ExitError
	if text == "" || !errors.As(err, &exit) {
		text = err.Error()
	}
	return errs.New(errs.IO, "tool.Run", p.Name, text)
}

// firstLine returns the first line of a text that is not empty.
func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return strings.TrimSpace(line)
}

// bounded keeps the first outputMax bytes, and discards the rest, so that the program does not block.
type bounded struct {
	kept bytes.Buffer // not embedded: its ReadFrom has no bound
	full bool
}

// Write implements io.Writer. It does not fail.
func (b *bounded) Write(p []byte) (int, error) {
	room := outputMax - b.kept.Len()
	if len(p) > room {
		b.full = true
		_, _ = b.kept.Write(p[:room])
		return len(p), nil
	}
	return b.kept.Write(p)
}
