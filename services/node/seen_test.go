package node

import (
	"os"
	"testing"
	"time"
)

// TestNewestMarkIsShown: a mark is made durable now and then, but the node shows the newest that it was given, so that
// a manager that was put back from a copy of a few seconds ago is found out.
func TestNewestMarkIsShown(t *testing.T) {
	s, err := openSeen(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	for _, mark := range []string{"one", "two", ""} {
		if err := s.keep([]byte(mark), now); err != nil {
			t.Fatal(err)
		}
	}
	if saved, err := os.ReadFile(s.path); string(saved) != "one" || string(s.newest) != "two" || err != nil {
		t.Errorf("saved %q, shown %q, %v", saved, s.newest, err)
	}
	if err := s.keep([]byte("two"), now.Add(seenInterval)); err != nil {
		t.Fatal(err)
	}
	if again, err := openSeen(t.TempDir()); err != nil || again.newest != nil {
		t.Errorf("a new node shows %q, %v", again.newest, err)
	}
	if saved, err := os.ReadFile(s.path); string(saved) != "two" || err != nil {
		t.Errorf("saved %q, %v", saved, err)
	}
}
