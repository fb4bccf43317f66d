package namespace_test

import (
	"testing"
)

// A commit removes attributes, and nothing is wrong with those that are not there.
func TestCommitRemovesAttributes(t *testing.T) {
	n := fresh(t)
	put(t, n, alice(), "/f", 10)
	for _, name := range []string{"user.old", "user.kept"} {
		if err := n.Tree.SetXattr(t.Context(), alice(), "/f", name, []byte("1"), false); err != nil {
			t.Fatal(err)
		}
	}
	c := prepare(t, n, alice(), "/f")
	c.Xattrs, c.XattrsGone = map[string][]byte{"user.new": []byte("2")}, []string{"user.old", "user.never"}
	e, err := n.Writes.Commit(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if _, there := e.Xattrs["user.old"]; there || len(e.Xattrs) != 2 {
		t.Errorf("committed %v", e.Xattrs)
	}
	checked(t, n)
}
