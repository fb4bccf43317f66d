package locks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheck runs the check on a module of its own, in which each line that must be found says "want".
func TestCheck(t *testing.T) {
	const source = `package p

import (
	"os"
	"sync"
)

type disk interface{ Write(p []byte) error; Size() int }

type file struct {
	mu   sync.Mutex
	rw   sync.RWMutex
	disk disk
	f    *os.File
}

func (f *file) direct() {
	f.mu.Lock()
	defer f.mu.Unlock()
	_ = f.disk.Write(nil) // want
}

func (f *file) size() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.disk.Size()
}

func (f *file) released() {
	f.mu.Lock()
	f.mu.Unlock()
	_ = f.disk.Write(nil)
}

func (f *file) reader() {
	f.rw.RLock()
	f.indirect() // want
	f.rw.RUnlock()
	f.indirect()
}

func (f *file) indirect() { f.further() }

func (f *file) further() { _, _ = f.f.Write(nil) }

func (f *file) elsewhere() {
	f.mu.Lock()
	defer f.mu.Unlock()
	go f.indirect()
	later := func() { f.indirect() }
	_ = later
}

func (f *file) excused() {
	f.mu.Lock() // holds: the order of writes is what this mutex is there for
	defer f.mu.Unlock()
	f.indirect()
}

func (f *file) deferred() {
	f.mu.Lock()
	defer f.indirect()
	f.mu.Unlock()
}
`
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n", "p.go": source} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	loaded, err := Load(dir, ".")
	if err != nil {
		t.Fatal(err)
	}
	found := map[int]string{}
	for _, f := range Check(loaded, Waiting{"p.disk": {"Write"}, "os.File": {"*"}}) {
		found[f.Pos.Line] = f.String()
	}
	for i, line := range strings.Split(source, "\n") {
		want := strings.Contains(line, "// want")
		if got := found[i+1]; want != (got != "") {
			t.Errorf("line %d, %q: found %q, want a finding: %v", i+1, line, got, want)
		}
	}
}

// TestLoadReportsErrors: sources that do not compile are no clean bill.
func TestLoadReportsErrors(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n", "p.go": "package p\n\nvar x int = \"\"\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := Load(dir, "."); err == nil {
		t.Error("no error for sources that do not compile")
	}
}
