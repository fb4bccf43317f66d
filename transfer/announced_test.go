package transfer_test

import (
	"errors"
	"fmt"
	"testing"

	"hemera/words/errs"
	"hemera/words/hemera"
)

// announce makes a grant for a file whose size the client said.
func (b *bench) announce(c hemera.Capability, size int64) (string, hemera.Capability) {
	c.Size = max(size, c.Size)
	return b.manager.sign(c), c
}

// TestCloseBelowTheAnnouncedSize: a client that stops early closes the file like any other; what it wrote is not a file.
func TestCloseBelowTheAnnouncedSize(t *testing.T) {
	for _, size := range []int{1, 50_000, 3 << 20} { // in memory, in memory, on disk
		for _, written := range []int{0, size / 2, size, size + 1} {
			t.Run(fmt.Sprint(written, " of ", size), func(t *testing.T) {
				b := newMemoryBench(t, 2)
				_, c := b.grant(70, 2, 1, 2)
				token, c := b.announce(c, int64(size))
				f := b.begin(1, token)
				err := errors.Join(f.WritePages(content(written), nil, 0), f.End(ctx, hemera.EndClose))
				if written >= size {
					if err != nil {
						t.Fatal(err)
					}
					b.mustRead(c, content(written))
					return
				}
				if !isKind(err, errs.Invalid) || b.manager.commits != 0 || b.manager.aborted != 1 {
					t.Errorf("close: %v, %d commits, %d aborts", err, b.manager.commits, b.manager.aborted)
				}
				b.mustHave(c)
				if n := b.hosts[0].pending.Len() + b.hosts[1].pending.Len(); n != 0 {
					t.Errorf("%d writes are pending", n)
				}
			})
		}
	}
}

// TestAnnouncedSizeTakenBack: a truncation says that less is meant, once and until the client starts over.
func TestAnnouncedSizeTakenBack(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(b *bench, token string, f hemera.File) (hemera.File, error)
		want string // "": the close fails
	}{
		"cut to what was written": {func(_ *bench, _ string, f hemera.File) (hemera.File, error) { return f, f.Truncate(3) }, "abc"},
		"cut further":             {func(_ *bench, _ string, f hemera.File) (hemera.File, error) { return f, f.Truncate(2) }, "ab"},
		"then written on": {func(_ *bench, _ string, f hemera.File) (hemera.File, error) {
			return f, errors.Join(f.Truncate(1), f.WritePages([]byte("xy"), nil, 1))
		}, "axy"},
		"extended": {func(_ *bench, _ string, f hemera.File) (hemera.File, error) { return f, f.Truncate(5) }, "abc\x00\x00"},
		"begun anew": {func(b *bench, token string, f hemera.File) (hemera.File, error) {
			err := f.Truncate(2)
			f.End(ctx, hemera.EndDetach)
			return b.begin(1, token), err
		}, ""},
		"resumed after": {func(b *bench, token string, f hemera.File) (hemera.File, error) {
			err := f.Truncate(2)
			f.End(ctx, hemera.EndDetach)
			return b.open(1, token, hemera.NodeOpen{}), err
		}, "ab"},
		"resumed": {func(b *bench, token string, f hemera.File) (hemera.File, error) {
			f.End(ctx, hemera.EndDetach)
			return b.open(1, token, hemera.NodeOpen{}), nil
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			b := newMemoryBench(t, 1)
			_, grant := b.grant(71, 1, 1)
			token, grant := b.announce(grant, 1000)
			f := b.begin(1, token)
			if err := f.WritePages([]byte("abc"), nil, 0); err != nil {
				t.Fatal(err)
			}
			f, err := c.do(b, token, f)
			if err != nil {
				t.Fatal(err)
			}
			err = f.End(ctx, hemera.EndClose)
			if c.want == "" {
				if !isKind(err, errs.Invalid) {
					t.Errorf("close: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			b.mustRead(grant, []byte(c.want))
		})
	}
}

// TestUpdateBelowTheAnnouncedSize: what was there counts, and stays when the update is refused.
func TestUpdateBelowTheAnnouncedSize(t *testing.T) {
	b := newMemoryBench(t, 1)
	old := content(100_000)
	base := b.put(72, old, 1)
	_, c := b.update(base, 1, 1)
	token, _ := b.announce(c, 150_000)
	f := b.open(1, token, hemera.NodeOpen{})
	if err := errors.Join(f.WritePages(content(20_000), nil, 100_000), f.End(ctx, hemera.EndClose)); !isKind(err, errs.Invalid) {
		t.Errorf("close: %v", err)
	}
	b.mustRead(base, old)
	_, c = b.update(base, 1, 1)
	token, c = b.announce(c, 150_000)
	f = b.open(1, token, hemera.NodeOpen{})
	if err := errors.Join(f.WritePages(content(50_000), nil, 100_000), f.End(ctx, hemera.EndClose)); err != nil {
		t.Error(err)
	}
	b.mustRead(c, append(old, content(50_000)...))
}

// TestQuotaBoundsWhatIsWritten: by writes and by truncations, in memory and on disk.
func TestQuotaBoundsWhatIsWritten(t *testing.T) {
	for _, most := range []int64{1000, 100_000} {
		b := newMemoryBench(t, 1)
		_, c := b.grant(73, 1, 1)
		c.SizeMax = most
		token := b.manager.sign(c)
		f := b.begin(1, token)
		if err := f.WritePages(content(int(most)), nil, 0); err != nil {
			t.Fatal(err)
		}
		for _, err := range []error{f.WritePages([]byte("x"), nil, most), f.Truncate(most + 1), f.Truncate(1 << 40)} {
			if !isKind(err, errs.OverQuota) {
				t.Errorf("beyond %d: %v", most, err)
			}
		}
		if err := f.End(ctx, hemera.EndClose); err != nil {
			t.Fatal(err)
		}
		b.mustRead(c, content(int(most)))
	}
}
