package xrd

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// sinks is a node whose files keep only the extent of their writes. The first file fails a write that reaches an offset.
type sinks struct {
	hemera.Node
	failAt int64

	mu   sync.Mutex
	made []*sinkFile
}

// User implements hemera.Node.
func (n *sinks) User(context.Context, *hemera.Permit) (hemera.Identity, error) { return tester, nil }

func (n *sinks) Open(context.Context, *hemera.Permit, hemera.NodeOpen) (hemera.File, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	f := &sinkFile{lostFile: lostFile{path: "/f"}}
	if len(n.made) == 0 {
		f.failAt = n.failAt
	}
	n.made = append(n.made, f)
	return f, nil
}

// failsAfter is the time until a bad disk reports its error, so that the client waits for it.
const failsAfter = 200 * time.Millisecond

type sinkFile struct {
	lostFile
	failAt int64

	mu     sync.Mutex
	taken  int64
	closed bool
}

func (f *sinkFile) WritePages(p []byte, _ []uint32, off int64) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failAt > 0 && off+int64(len(p)) >= f.failAt {
		time.Sleep(failsAfter)
		return errs.New(errs.IO, "write", f.path, "the disk is ill")
	}
	f.taken += int64(len(p))
	return nil
}

func (f *sinkFile) End(_ context.Context, how hemera.Ending) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = f.closed || how == hemera.EndClose
	return nil
}

// TestStockCopyIsRestarted checks that xrdcp either writes the whole file again after a failed write, or fails. It must
// never succeed without the whole file at the node, with only its end, or with a file on its own machine.
func TestStockCopyIsRestarted(t *testing.T) {
	if _, err := exec.LookPath("xrdcp"); err != nil {
		t.Skip("xrdcp is not installed")
	}
	const size = 160 << 20
	dir := t.TempDir()
	source, same := filepath.Join(dir, "source"), filepath.Join(dir, "same")
	if err := os.WriteFile(source, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(source, size); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		what   string
		failAt int64
		source string
		again  bool
	}{
		{"before chunks that are to come", 16 << 20, source, true},
		{"when all chunks are handed out", size - 20<<20, source, false},
		{"of what comes through a pipe", 16 << 20, "-", false},
	} {
		n := &sinks{failAt: c.failAt}
		p := newPair(t, func(o *Options) {
			if o.Node != nil {
				o.Node.Node = n
			}
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, "xrdcp", "--nopbar", "-f", c.source, "root://"+p.managerAddr+"/"+same)
		in, err := os.Open(source)
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		cmd.Stdin = in
		out, err := cmd.CombinedOutput()
		t.Logf("a write that fails %s: %v", c.what, err)
		if ctx.Err() != nil {
			t.Errorf("a write that fails %s: the copy does not end\n%s", c.what, out)
		}
		if err == nil && !c.again {
			t.Errorf("a write that fails %s: the copy succeeds\n%s", c.what, out)
		}
		if _, err := os.Stat(same); err == nil {
			t.Errorf("a write that fails %s: xrdcp made a local file", c.what)
		}
		n.mu.Lock()
		last := n.made[len(n.made)-1]
		if err == nil && (len(n.made) != 2 || last.taken != size || !last.closed) {
			t.Errorf("a write that fails %s: %d opens, the last took %d bytes", c.what, len(n.made), last.taken)
		}
		n.mu.Unlock()
	}
}
