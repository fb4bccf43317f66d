package cluster

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// convertible returns files of all sizes that are stored in different ways: none, inline, a page, several windows.
func (r *rig) convertible() map[string]int {
	r.t.Helper()
	files := map[string]int{"/tree/empty": 0, "/tree/a/one": 1, "/tree/a/page": 4096, "/tree/big": 3<<20 + 17, "/tree/z/inline": 64 << 10, "/beside": 5000}
	for i := range 40 {
		files[fmt.Sprintf("/tree/b/%d/f%d", i%3, i)] = 700 * i
	}
	for path, size := range files {
		write(r.t, r.client, r.url(path), content(path, size))
	}
	return files
}

// ended waits until a request has ended, and returns it.
func (r *rig) ended(id uint64) (c adminapi.Conversion) {
	r.t.Helper()
	until(r.t, "the conversion ends", func() bool {
		list, err := r.up.Manager.Conversions.Conversions(r.t.Context())
		i := slices.IndexFunc(list, func(s adminapi.ConversionStatus) bool { return s.ID == id })
		if err != nil || i < 0 {
			r.t.Fatalf("request %d in %+v, %v", id, list, err)
		}
		c = list[i].Conversion
		return !c.Ended.IsZero()
	})
	return c
}

// stat returns a file as the manager has it.
func (r *rig) stat(path string) hemera.Entry {
	r.t.Helper()
	e, err := r.up.Manager.Names.Stat(r.t.Context(), hemera.SystemIdentity(), path)
	if err != nil {
		r.t.Fatal(err)
	}
	return e
}

func TestConversionOfATree(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 2, 4)
	files := r.convertible()
	ctx, who := t.Context(), hemera.SystemIdentity()
	if err := r.up.Manager.Attributes.SetXattr(ctx, who, "/tree/big", "user.run", []byte("17"), false); err != nil {
		t.Fatal(err)
	}
	if err := r.up.Manager.Attributes.SetTimes(ctx, who, "/tree/big", time.Unix(1e9, 5)); err != nil {
		t.Fatal(err)
	}
	if err := r.up.Manager.Attributes.SetOwner(ctx, who, "/tree/big", 1234, 56); err != nil {
		t.Fatal(err)
	}
	before := map[string]hemera.Entry{}
	for path := range files {
		before[path] = r.stat(path)
	}
	c, err := r.up.Manager.Conversions.Convert(ctx, "tester", adminapi.ConversionRequest{Path: "/tree", Recursive: true,
		Form: hemera.Form{Layout: hemera.Replica(3), Checksum: hemera.SHA256}})
	if err != nil {
		t.Fatal(err)
	}
	if c = r.ended(c.ID); c.Done != int64(len(files)-1) || c.Failed != 0 || c.Skipped != 0 || c.Why != "" {
		t.Errorf("%+v", c)
	}
	for path, old := range before {
		e := r.stat(path)
		if path == "/beside" {
			if e.Gen != old.Gen {
				t.Error("a file beside the tree was converted")
			}
			continue
		}
		_, has := hemera.FindChecksum(e.Checksums, hemera.SHA256)
		if e.Layout != hemera.Replica(3) || !has || e.Gen == old.Gen || e.Size > 0 && len(e.Pieces) != 3 {
			t.Errorf("%s is %s with %v, pieces %v", path, e.Layout, e.Checksums, e.Pieces)
		}
		for _, sum := range old.Checksums {
			if is, ok := hemera.FindChecksum(e.Checksums, sum.Kind); !ok || is != sum {
				t.Errorf("%s: %s became %v", path, sum, is)
			}
		}
		if e.ID != old.ID || !e.Mtime.Equal(old.Mtime) || !e.Birth.Equal(old.Birth) || e.Mode != old.Mode || e.UID != old.UID || e.GID != old.GID ||
			!maps.EqualFunc(e.Xattrs, old.Xattrs, slices.Equal) {
			t.Errorf("%s was %+v, is %+v", path, old, e)
		}
	}
	r.whole(files)
	report, err := r.up.Manager.Maint.CheckNamespace(ctx, func(adminapi.NamespaceCheck) error { return nil })
	if err != nil || !report.Healthy() {
		t.Errorf("%+v, %v", report, err)
	}
	// Again: nothing is left to do.
	if c, err = r.up.Manager.Conversions.Convert(ctx, "tester", c.ConversionRequest); err != nil {
		t.Fatal(err)
	}
	if c = r.ended(c.ID); c.Done != 0 || c.Seen != int64(len(files)-1) {
		t.Errorf("once more: %+v", c)
	}
}

// Clients write, rewrite and read files of the tree while it is converted back and forth: each content that a close has
// acknowledged is read back, and no close fails because of a conversion.
func TestConversionUnderLoad(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 2, 4)
	const writers, leastRounds, leastConverted = 4, 25, 20
	enough := make(chan struct{})
	var done sync.WaitGroup
	last := make([][]byte, writers)
	for w := range writers {
		path := fmt.Sprintf("/load/f%d", w)
		done.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-enough:
					if i >= leastRounds {
						return
					}
				default:
				}
				last[w] = content(fmt.Sprint(path, i), 1000+i%100*9973)
				write(t, r.client, r.url(path), last[w])
				read(t, r.client, r.url(path), last[w])
			}
		})
	}
	convert := func(i int) adminapi.Conversion {
		c, err := r.up.Manager.Conversions.Convert(t.Context(), "tester", adminapi.ConversionRequest{Path: "/", Recursive: true, Form: hemera.Form{Layout: hemera.Replica(1 + i%3)}})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	converted := int64(0)
	for i := 0; converted < leastConverted; i++ {
		c := convert(i)
		// A pass that left files alone comes back to them much later; the next request does so at once.
		until(t, "a pass ends", func() bool {
			list, err := r.up.Manager.Conversions.Conversions(t.Context())
			if err != nil || len(list) == 0 {
				t.Fatal(err)
			}
			now := list[len(list)-1]
			c = now.Conversion
			return !now.Ended.IsZero() || now.Job.State != "running" && now.Seen+now.Skipped+now.Failed > 0
		})
		converted += c.Done
		if err := r.up.Manager.Conversions.StopConversion(t.Context(), c.ID); err != nil {
			t.Fatal(err)
		}
	}
	close(enough)
	done.Wait()
	if c := r.ended(convert(3).ID); c.Failed+c.Skipped > 0 {
		t.Errorf("%+v", c)
	}
	for w, data := range last {
		path := fmt.Sprintf("/load/f%d", w)
		read(t, r.client, r.url(path), data)
		if e := r.stat(path); e.Layout != hemera.Replica(1) {
			t.Errorf("%s is %s", path, e.Layout)
		}
	}
}

// Every layout becomes every other, there and back, and the content stays the same.
func TestConversionBetweenLayouts(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 2, 6)
	files := r.convertible()
	const small = 64 << 10
	for _, c := range []struct{ ask, want hemera.Layout }{
		{hemera.ReedSolomon(4, 2), hemera.ReedSolomon(4, 2)},
		{hemera.Plain(), hemera.Plain()},
		{hemera.ReedSolomon(4, 2).WithBlockSize(small), hemera.ReedSolomon(4, 2).WithBlockSize(small)},
		// What is not named stays: the blocks.
		{hemera.Stripe(3), hemera.Stripe(3).WithBlockSize(small)},
		{hemera.ReedSolomon(2, 1), hemera.ReedSolomon(2, 1).WithBlockSize(small)},
		{hemera.Local(2, 1, 1), hemera.Local(2, 1, 1).WithBlockSize(small)},
		{hemera.Replica(2), hemera.Replica(2)},
	} {
		request, err := r.up.Manager.Conversions.Convert(t.Context(), "tester", adminapi.ConversionRequest{Path: "/", Recursive: true, Form: hemera.Form{Layout: c.ask}})
		if err != nil {
			t.Fatal(err)
		}
		if request = r.ended(request.ID); request.Done != int64(len(files)) || request.Failed+request.Skipped > 0 {
			t.Fatalf("to %s: %+v", c.ask, request)
		}
		for path := range files {
			if e := r.stat(path); e.Layout != c.want {
				t.Errorf("%s is %+v and not %+v", path, e.Layout, c.want)
			}
		}
		r.whole(files)
	}
}

func TestConversionGoesOnAfterARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	r := start(t, dir, 2, 4)
	files := r.convertible()
	c, err := r.up.Manager.Conversions.Convert(t.Context(), "tester", adminapi.ConversionRequest{Path: "/tree", Recursive: true, Form: hemera.Form{Layout: hemera.Replica(3)}})
	if err != nil {
		t.Fatal(err)
	}
	r.stop()
	r = start(t, dir, 2, 4)
	if c = r.ended(c.ID); c.Failed != 0 {
		t.Errorf("%+v", c)
	}
	r.whole(files)
	for path := range files {
		if e := r.stat(path); path != "/beside" && e.Layout != hemera.Replica(3) {
			t.Errorf("%s is %s", path, e.Layout)
		}
	}
}

func TestConversionIsRefused(t *testing.T) {
	t.Parallel()
	r := start(t, t.TempDir(), 1, 2)
	write(t, r.client, r.url("/d/f"), content("/d/f", 100))
	for _, c := range []struct {
		r    adminapi.ConversionRequest
		kind errs.Kind
	}{
		{adminapi.ConversionRequest{Path: "/d/f"}, errs.Invalid},
		{adminapi.ConversionRequest{Path: "/d", Form: hemera.Form{Layout: hemera.Plain()}}, errs.IsDirectory},
		{adminapi.ConversionRequest{Path: "/none", Form: hemera.Form{Layout: hemera.Plain()}}, errs.NotFound},
		{adminapi.ConversionRequest{Path: "/d/f", Form: hemera.Form{Space: "moon"}}, errs.NotFound},
		{adminapi.ConversionRequest{Path: "/d/f", Form: hemera.Form{Layout: hemera.Plain(), BlockSize: 1 << 20}}, errs.Invalid},
	} {
		if _, err := r.up.Manager.Conversions.Convert(context.Background(), "tester", c.r); errs.KindOf(err) != c.kind || errs.RemedyOf(err) == "" && c.kind != errs.NotFound {
			t.Errorf("%+v: %v", c.r, err)
		}
	}
}
