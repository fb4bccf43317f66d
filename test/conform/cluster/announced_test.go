package cluster

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"hemera/client/xrootd"
	"hemera/words/errs"
)

// TestFailedUploadsAreNotVisible: xrdcp closes a file like any other when it stops by itself. What was
// at the name stays, or nothing comes to be there.
func TestFailedUploadsAreNotVisible(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("xrdcp"); err != nil {
		t.Skip("xrdcp is not installed")
	}
	r := start(t, t.TempDir(), 2, 2)
	write(t, r.client, r.url("/replaced"), content("/replaced", 1000))
	const size = 100 << 20 // at 20 MB/s more than any of the cases waits for
	pending := func() (n int) {
		for _, node := range r.up.Nodes {
			n += node.Status().Pending
		}
		return n
	}
	for _, c := range []struct {
		name string
		env  string
		args []string
		then func(source string) error
	}{
		{"time", "XRD_CPTIMEOUT=1", nil, nil},
		{"rate", "", []string{"--xrate-threshold", "50m"}, nil},
		{"source", "", nil, func(source string) error {
			until(t, "the write begins", func() bool { return pending() > 0 })
			return os.Truncate(source, 1<<20)
		}},
	} {
		for _, path := range []string{"/new", "/replaced"} {
			source := filepath.Join(t.TempDir(), "source")
			if err := errors.Join(os.WriteFile(source, nil, 0o600), os.Truncate(source, size)); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			args := append(append([]string{"-f", "--nopbar", "--xrate", "20m"}, c.args...), source, r.url(path).String())
			cmd := exec.CommandContext(ctx, "xrdcp", args...)
			cmd.Env = append(os.Environ(), c.env)
			until(t, "the write before ends", func() bool { return pending() == 0 })
			err := cmd.Start()
			if err == nil && c.then != nil {
				err = c.then(source)
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Wait(); err == nil || ctx.Err() != nil {
				t.Errorf("%s: xrdcp ended with %v, %v", c.name, err, ctx.Err())
			}
			cancel()
		}
		if _, err := r.client.Open(t.Context(), r.url("/new"), xrootd.OpenOptions{}); !errors.Is(err, errs.NotFound) {
			t.Errorf("%s: open of a file that was never whole: %v", c.name, err)
		}
		r.whole(map[string]int{"/replaced": 1000})
	}
}
