package daemon

import (
	"errors"
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// TestManagerEndsWithItsStore: a manager with a failed store does not stay, looking healthy, but ends, to be restarted.
func TestManagerEndsWithItsStore(t *testing.T) {
	dir := t.TempDir()
	o := ManagerOptions{Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 64 << 20, Log: keptLog(t)}
	m, err := OpenManager(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- m.Run(t.Context()) }()
	if _, err := m.Names.Mkdir(t.Context(), hemera.SystemIdentity(), "/before", 0o755, false); err != nil {
		t.Fatal(err)
	}
	if _, err := m.store.Acquire(t.Context(), "another"); err != nil { // this fails the next change
		t.Fatal(err)
	}
	if _, err := m.Names.Mkdir(t.Context(), hemera.SystemIdentity(), "/after", 0o755, false); !errors.Is(err, errs.Unavailable) {
		t.Errorf("a change of the dead namespace: %v", err)
	}
	if err := <-ended; !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" {
		t.Errorf("the manager ended with %v", err)
	}
	if m, err = OpenManager(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	defer m.close()
	if _, err := m.Names.Stat(t.Context(), hemera.SystemIdentity(), "/before"); err != nil {
		t.Errorf("after the next start: %v", err)
	}
}
