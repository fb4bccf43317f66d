package tool

import (
	"context"
	"os/exec"
	"regexp"
	"time"

	"hemera/words/errs"
)

// Program is an installed program.
type Program struct {
	Name    string // as people type it
	Path    string
	Version string // 3.33; the first line of its output if that has no number
}

// versionWait bounds the wait for a version. A program that does not answer is broken, or another program.
const versionWait = 10 * time.Second

// Find returns the program with a name. It runs the program with --version. It fails with NotFound if the program is not
// installed, with the Debian package as remedy, and with the program's error if it does not print its version.
func Find(ctx context.Context, name, debian string) (Program, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return Program{}, errs.New(errs.NotFound, "tool.Find", name, "it is not installed").WithRemedy("apt install " + debian)
	}
	p := Program{Name: name, Path: path}
	ctx, cancel := context.WithTimeout(ctx, versionWait)
	defer cancel()
	out, err := p.Run(ctx, "", "--version")
	if err != nil {
		return Program{}, err
	}
	p.Version = Version(string(out))
	return p, nil
}

// Version returns the version in the output of a program, which is the first number with a point, such as 3.33 of "fio-3.33" and 3.12
// of "iperf 3.12 (cJSON 1.7.15)". Without one it returns the first line.
func Version(text string) string {
	if v := regexp.MustCompile(`\d+\.\d+[0-9A-Za-z.+~-]*`).FindString(text); v != "" {
		return v
	}
	return firstLine(text)
}
