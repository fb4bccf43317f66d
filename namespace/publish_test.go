package namespace_test

import (
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// A file is moved to its final name only as what it is said to be, and onto nothing that is to stay.
func TestPublish(t *testing.T) {
	n := fresh(t)
	ctx := t.Context()
	must[hemera.Entry](t)(n.Tree.Mkdir(ctx, alice(), "/a/d", 0o755, true))
	sum := must[hemera.Checksum](t)(hemera.ParseChecksum("adler32:01020304"))
	c := prepare(t, n, alice(), "/a/part")
	c.Size, c.Sums = 100, []hemera.Checksum{sum}
	part := must[hemera.Entry](t)(n.Writes.Commit(ctx, c))
	there := put(t, n, alice(), "/a/there", 7)
	other := sum
	other.Value[0]++
	whole := hemera.Publication{From: "/a/part", To: "/a/f", Size: 100, Sum: sum}
	for what, c := range map[string]struct {
		change func(p *hemera.Publication)
		who    hemera.Identity
		kind   errs.Kind
	}{
		"another size":           {func(p *hemera.Publication) { p.Size = 99 }, alice(), errs.Conflict},
		"another checksum":       {func(p *hemera.Publication) { p.Sum = other }, alice(), errs.Conflict},
		"no such checksum":       {func(p *hemera.Publication) { p.Sum.Kind = hemera.BLAKE3 }, alice(), errs.Unsupported},
		"a taken name":           {func(p *hemera.Publication) { p.To = "/a/there" }, alice(), errs.Exists},
		"onto a directory":       {func(p *hemera.Publication) { p.To, p.Replace = "/a/d", true }, alice(), errs.IsDirectory},
		"a directory":            {func(p *hemera.Publication) { p.From = "/a/d" }, alice(), errs.IsDirectory},
		"nothing":                {func(p *hemera.Publication) { p.From = "/a/none" }, alice(), errs.NotFound},
		"another's file":         {func(*hemera.Publication) {}, bob(), errs.Denied},
		"another's, and guessed": {func(p *hemera.Publication) { p.Size = 1 }, bob(), errs.Denied},
	} {
		p := whole
		c.change(&p)
		wantKind(t, what, n.Tree.Publish(ctx, c.who, p), c.kind)
	}
	if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), "/a/there")); e.ID != there.ID || e.Size != 7 {
		t.Errorf("a refused publication changed %+v", e)
	}
	for _, p := range []hemera.Publication{whole, {From: "/a/f", To: "/a/there", Size: 100, Replace: true}} {
		if err := n.Tree.Publish(ctx, alice(), p); err != nil {
			t.Fatal(err)
		}
		if e := must[hemera.Entry](t)(n.Tree.Stat(ctx, alice(), p.To)); e.ID != part.ID {
			t.Errorf("%s is %+v", p.To, e)
		}
		_, err := n.Tree.Stat(ctx, alice(), p.From)
		wantKind(t, "the old name", err, errs.NotFound)
	}
	checked(t, n)
}
