package meter

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"

	"hemera/words/errs"
)

// Runner runs a program with additional variables in its environment and returns its output. It fails with NotFound if
// the program is not installed.
type Runner func(ctx context.Context, environment []string, name string, args ...string) (string, error)

// printedMax bounds a program's output.
const printedMax = 1 << 20

// run implements Runner and is the default.
func run(ctx context.Context, environment []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...) // #nosec G204 -- the programs are fixed
	// Programs need PATH and HOME as well.
	c.Env = append(os.Environ(), environment...)
	var out, complaint bytes.Buffer
	c.Stdout, c.Stderr = &out, &complaint
	err := c.Run()
	// The output is small, except after mistakes.
	text := out.String()
	switch {
	case errors.Is(err, exec.ErrNotFound):
		return "", errs.New(errs.NotFound, "meter.Run", name, "it is not installed").WithRemedy("apt install " + name)
	case err != nil:
		// The last line has the reason; those before are often warnings.
		said := strings.TrimSpace(complaint.String())
		return "", errs.New(errs.Unavailable, "meter.Run", name, said[strings.LastIndexByte(said, '\n')+1:])
	case len(text) > printedMax:
		return "", errs.New(errs.TooLarge, "meter.Run", name, "it prints more than a megabyte")
	}
	return text, nil
}
