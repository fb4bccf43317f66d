package namespace_test

import (
	"fmt"
	"strings"
	"testing"

	"hemera/namespace"
	"hemera/tape/catalogue"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// held returns the queues of held contents.
func held(t *testing.T, n *namespace.Namespace) (out []catalogue.Queue) {
	t.Helper()
	all, err := n.Parts().Tapes.Queues(t.Context())
	good(t, err)
	for _, q := range all {
		if _, _, is := catalogue.HeldBy(q.Name); is && q.Failed {
			out = append(out, q)
		}
	}
	return out
}

// release looks at all that is held, a page after the other.
func release(t *testing.T, n *namespace.Namespace) (released int) {
	t.Helper()
	for _, q := range held(t, n) {
		for after := []byte(nil); ; {
			some, next, err := n.Parts().Tapes.ReleaseHeld(t.Context(), q, after)
			good(t, err)
			released += some
			if after = next; next == nil {
				break
			}
		}
	}
	return released
}

// A file that no pool takes is known from its commit on, and queued once one does.
func TestWhatNoPoolTakesIsHeld(t *testing.T) {
	n, ctx := withTapes(t), t.Context()
	pools := map[string][]string{"double": {"A", "B"}}
	n.Parts().Tapes.Adopt(routed(pools, 500))
	good(t, n.Tree.SetXattr(ctx, system(), "/tape", hemera.AttrStorageClass, []byte("later"), false))
	const files = 450 // some pages
	for i := range files {
		put(t, n, alice(), fmt.Sprintf("/tape/f%d", i), 100)
	}
	put(t, n, alice(), "/tape/gone", 100)
	put(t, n, alice(), "/tape/large", 1000)
	put(t, n, alice(), "/tape/other", 100)
	good(t, n.Tree.Remove(ctx, alice(), "/tape/gone", 0))
	q := held(t, n)
	if len(q) != 1 || q[0].Name != "class=later" || q[0].Files != files+2 {
		t.Fatalf("%+v", q)
	}
	if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/tape/f1")); string(e.Xattrs[hemera.AttrArchiveError]) != "there is no such storage class (add it: hemera tape class add later nbCopies=1, or name another in sys.archive.storage_class)" {
		t.Errorf("%q", e.Xattrs[hemera.AttrArchiveError])
	}
	checked(t, n)
	if some := release(t, n); some != 0 {
		t.Errorf("%d files go to pools that there are not", some)
	}
	// A person takes one of them to another class.
	e := must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/tape/other"))
	_, err := n.Parts().Tapes.Archive(ctx, e.ID, "double")
	good(t, err)
	e = must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/tape/other"))
	if e.StorageClass() != "double" || e.Xattrs[hemera.AttrArchiveError] != nil || len(queued(t, n, tapeapi.Archive, "A")) != 1 || len(queued(t, n, tapeapi.Archive, "B")) != 1 {
		t.Errorf("%+v", e)
	}
	checked(t, n)
	// The class comes. What is too large goes on waiting, for another reason.
	pools["later"] = []string{"A", "B"}
	n.Parts().Tapes.Adopt(routed(pools, 500))
	if some := release(t, n); some != files {
		t.Errorf("released %d of %d", some, files)
	}
	if a, b := queued(t, n, tapeapi.Archive, "A"), queued(t, n, tapeapi.Archive, "B"); len(a) != files+1 || len(b) != files+1 {
		t.Errorf("%d and %d", len(a), len(b))
	}
	if q = held(t, n); len(q) != 1 || q[0].Name != "size=later" || q[0].Files != 1 {
		t.Errorf("%+v", q)
	}
	if e = must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/tape/f1")); e.Xattrs[hemera.AttrArchiveError] != nil {
		t.Errorf("%q", e.Xattrs)
	}
	checked(t, n)
	n.Parts().Tapes.Adopt(routed(pools, 0))
	if some := release(t, n); some != 1 || len(held(t, n)) != 0 {
		t.Errorf("%d, %+v", some, held(t, n))
	}
	// A limit that comes later is not for what has a copy.
	n.Parts().Tapes.Adopt(routed(pools, 10))
	complete, err := write(t, n, "TAPEA1", queued(t, n, tapeapi.Archive, "A")[0])
	good(t, err)
	more, err := write(t, n, "TAPEB1", queued(t, n, tapeapi.Archive, "B")[0])
	if good(t, err); len(complete)+len(more) != 1 {
		t.Errorf("%v, %v", complete, more)
	}
	checked(t, n)
}

// Attributes may have any text: a queue has a name of its own all the same.
func TestHeldByAClassThatCannotBe(t *testing.T) {
	n, ctx := withTapes(t), t.Context()
	for i, class := range []string{strings.Repeat("x", 3000), "\xff\xfe", "a/b c"} {
		good(t, n.Tree.SetXattr(ctx, system(), "/tape", hemera.AttrStorageClass, []byte(class), false))
		put(t, n, alice(), fmt.Sprintf("/tape/f%d", i), 10)
		checked(t, n)
	}
	if q := held(t, n); len(q) != 3 {
		t.Errorf("%+v", q)
	}
	for i := range 3 {
		good(t, n.Tree.Remove(ctx, alice(), fmt.Sprintf("/tape/f%d", i), 0))
	}
	checked(t, n)
	if q := held(t, n); len(q) != 0 {
		t.Errorf("%+v", q)
	}
}
