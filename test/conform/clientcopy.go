package conform

import (
	"bytes"
	"context"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"

	"hemera/client/copy"
	"hemera/client/xrootd"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// write makes a local file.
// Directories above it are made too.
func write(t testing.TB, name string, data []byte) {
	t.Helper()
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, data, 0o644))
}

// wantFile fails the test unless a local file has these bytes.
// It does not print the bytes: a failure of megabytes would say less than a length.
func wantFile(t testing.TB, name string, data []byte) {
	t.Helper()
	got, err := os.ReadFile(name)
	must(t, err)
	if !bytes.Equal(got, data) {
		t.Errorf("%s has %d bytes that are not the %d expected", filepath.Base(name), len(got), len(data))
	}
}

// copies checks copies of files and trees in both directions.
// Up, from server to server through this machine, and down again: the tree must be the same.
func (s *clientSuite) copies(t *testing.T, ctx context.Context, dir xrootd.URL) {
	local := t.TempDir()
	tree := map[string][]byte{
		"empty": {}, "small": []byte("small"), "sub/one": randomBytes(20, 5000), "sub/deep/two": randomBytes(21, 3<<20+1),
	}
	var total int64
	for name, data := range tree {
		write(t, filepath.Join(local, "tree", name), data)
		total += int64(len(data))
	}
	o := copy.Options{Recursive: true, Verify: copy.VerifyAlways, TPC: copy.TPCOff} // every copy is verified against the target's checksum
	calls := 0
	o.Progress = func(copy.Progress) { calls++ } // calls only: how often depends on time
	p, err := copy.Run(ctx, s.c, []string{filepath.Join(local, "tree")}, dir.String(), o)
	must(t, err)
	// Bytes count once, whatever was sent again.
	if p.Files != int64(len(tree)) || p.Bytes != total || p.Failed != 0 || !p.Done || calls == 0 {
		t.Errorf("progress of the upload is %+v after %d calls", p, calls)
	}
	o.Progress = nil
	_, err = copy.Run(ctx, s.c, []string{dir.Join("tree").String()}, dir.Join("again").String(), o)
	must(t, err)
	_, err = copy.Run(ctx, s.c, []string{dir.Join("again").String()}, filepath.Join(local, "back"), o)
	must(t, err)
	for name, data := range tree {
		wantFile(t, filepath.Join(local, "back", name), data)
	}
	file := dir.Join("tree/small").String()
	// Without Force nothing is replaced.
	_, err = copy.Run(ctx, s.c, []string{filepath.Join(local, "tree/sub/one")}, file, o)
	wantKind(t, err, errs.Exists)
	o.Force = true
	o.Verify = copy.VerifyNever // the stock server remembers checksums by the second of the change
	_, err = copy.Run(ctx, s.c, []string{filepath.Join(local, "tree/sub/one")}, file, o)
	must(t, err)
	if got := s.get(t, ctx, dir.Join("tree/small")); !bytes.Equal(got, tree["sub/one"]) {
		t.Error("the replaced file has not the new content")
	}
	o.Recursive = false
	// A directory without Recursive is an error, not an empty copy.
	_, err = copy.Run(ctx, s.c, []string{dir.Join("tree").String()}, local, o)
	wantKind(t, err, errs.IsDirectory)
	_, err = copy.Run(ctx, s.c, []string{dir.Join("missing").String()}, local, o)
	wantKind(t, err, errs.NotFound)
}

// oddities makes a tree with entries that cannot be copied: each is named, and everything else is copied.
//
// Names with a question mark cannot be told from the opaque part of a URL; links to directories could lead round in circles.
func (s *clientSuite) oddities(t *testing.T, ctx context.Context, dir xrootd.URL) {
	tree := filepath.Join(t.TempDir(), "tree")
	dir = dir.Join("copy") // not there yet: the copy makes it
	for _, name := range []string{"a", "elsewhere/f", "sub/f", "what?", "why?/f", "z"} {
		write(t, filepath.Join(tree, name), []byte(name))
	}
	must(t, os.Symlink("nowhere", filepath.Join(tree, "broken")))
	must(t, os.Symlink("elsewhere", filepath.Join(tree, "dirlink")))
	must(t, os.Symlink("a", filepath.Join(tree, "link")))
	must(t, syscall.Mkfifo(filepath.Join(tree, "pipe"), 0o600))
	faults := map[string]errs.Kind{}
	var mu sync.Mutex
	// Copies run side by side, so reports do too.
	o := copy.Options{Recursive: true, TPC: copy.TPCOff, Report: func(from, _ string, err error) {
		mu.Lock()
		defer mu.Unlock()
		if err != nil {
			name, _ := filepath.Rel(tree, from)
			faults[name] = errs.KindOf(err)
		}
	}}
	p, err := copy.Run(ctx, s.c, []string{tree}, dir.String(), o)
	// Five files: the four below and what the link to a file leads to.
	if err == nil || p.Failed != int64(len(faults)) || p.Files != 5 {
		t.Errorf("%+v, %v", p, err)
	}
	// By path below the tree. What stands below a name that cannot be copied is named as well.
	want := map[string]errs.Kind{
		"broken": errs.NotFound, "dirlink": errs.Unsupported, "pipe": errs.Unsupported, "what?": errs.Invalid, "why?": errs.Invalid, "why?/f": errs.Invalid,
	}
	if !maps.Equal(faults, want) {
		t.Errorf("what failed is %v, want %v", faults, want)
	}
	for _, name := range []string{"a", "elsewhere/f", "sub/f", "z"} {
		if got := s.get(t, ctx, dir.Join(name)); string(got) != name {
			t.Errorf("%s is %q", name, got)
		}
	}
	o.Continue = true // as the target is there now, it is the content that goes there
	_, _ = copy.Run(ctx, s.c, []string{tree + "/."}, dir.String(), o)
	if i, err := s.c.Stat(ctx, dir.Join("tree")); err == nil {
		t.Errorf("a copy that goes on made %+v", i)
	}
}

// resume proves what a copy goes on with, and that nothing it was not asked to replace is touched.
// The part file has the name of the target with a dot in front and a suffix; it is gone at the end.
func (s *clientSuite) resume(t *testing.T, ctx context.Context, dir xrootd.URL) {
	local := t.TempDir()
	data := randomBytes(30, 2<<20+99)
	file, part := filepath.Join(local, "f"), dir.Join(".f.hemera-part")
	write(t, file, data)
	o := copy.Options{Continue: true, Verify: copy.VerifyAlways, TPC: copy.TPCOff, PartMin: 1}
	again := copy.Options{Continue: true, Force: true, TPC: copy.TPCOff, PartMin: 1}
	// A part of this source is gone on with, one of another is not.
	// The third is longer than the source, so it cannot be a part of it.
	for _, begun := range [][]byte{data[:700_001], randomBytes(31, 700_001), randomBytes(32, len(data)+1)} {
		s.put(t, ctx, part, begun)
		p, err := copy.Run(ctx, s.c, []string{file}, dir.Join("f").String(), o)
		must(t, err)
		if p.Bytes != int64(len(data)) || p.Kept != 0 {
			t.Errorf("progress is %+v", p)
		}
		if got := s.get(t, ctx, dir.Join("f")); !bytes.Equal(got, data) {
			t.Error("the continued upload is not the file")
		}
		_, err = s.c.Stat(ctx, part)
		wantKind(t, err, errs.NotFound)
		must(t, s.c.Remove(ctx, dir.Join("f")))
	}
	// A file of that name is no part: not a shorter one, not a longer one, not one of the same size.
	// Sizes and content must both be looked at before anything is replaced.
	for _, there := range [][]byte{data[:1000], append(bytes.Clone(data), 1), randomBytes(33, len(data))} {
		name := dir.Join("there" + strconv.Itoa(len(there)))
		s.put(t, ctx, name, there)
		_, err := copy.Run(ctx, s.c, []string{file}, name.String(), o)
		wantKind(t, err, errs.Exists)
		if got := s.get(t, ctx, name); !bytes.Equal(got, there) {
			t.Error("a file was changed that nobody wanted replaced")
		}
		_, err = copy.Run(ctx, s.c, []string{file}, name.String(), again)
		must(t, err)
		if got := s.get(t, ctx, name); !bytes.Equal(got, data) {
			t.Error("the file was not replaced")
		}
		// The second copy finds that nothing is to do.
		p, err := copy.Run(ctx, s.c, []string{file}, name.String(), again)
		must(t, err)
		if p.Skipped != 1 {
			t.Errorf("what is there already was copied again: %+v", p)
		}
		must(t, s.c.Remove(ctx, name))
	}
	s.put(t, ctx, dir.Join("f"), data)
	s.resumeDown(t, ctx, dir.Join("f"), data)
}

// resumeDown does the same to this machine. Here the parts are local files.
func (s *clientSuite) resumeDown(t *testing.T, ctx context.Context, from xrootd.URL, data []byte) {
	local := t.TempDir()
	o := copy.Options{Continue: true, Verify: copy.VerifyAlways, TPC: copy.TPCOff}
	for i, begun := range [][]byte{data[:1_000_000], make([]byte, 1000), append(bytes.Clone(data), 1)} {
		name := "down" + strconv.Itoa(i)
		write(t, filepath.Join(local, "."+name+".hemera-part"), begun)
		for range 2 { // the second time it is there already
			_, err := copy.Run(ctx, s.c, []string{from.String()}, filepath.Join(local, name), o)
			must(t, err)
			wantFile(t, filepath.Join(local, name), data)
		}
	}
	for _, there := range [][]byte{data[:1000], append(bytes.Clone(data), 1), randomBytes(33, len(data))} {
		name := filepath.Join(local, "there")
		write(t, name, there)
		_, err := copy.Run(ctx, s.c, []string{from.String()}, name, o)
		wantKind(t, err, errs.Exists)
		wantFile(t, name, there)
	}
	// Nothing of the attempts may stay.
	if left, _ := filepath.Glob(filepath.Join(local, ".*part")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
}

// ClientTPC proves that package copy has one server fetch a file from another: from an entry below
// the first URL to one below the second. Both must do third-party copies.
// Neither server's bytes pass through this machine.
func ClientTPC(t *testing.T, from, to string) {
	src, err := xrootd.ParseURL(from)
	must(t, err)
	dst, err := xrootd.ParseURL(to)
	must(t, err)
	ctx := t.Context()
	s := &clientSuite{base: src, c: xrootd.New(xrootd.Options{})} // the client of both servers
	t.Cleanup(func() { s.c.Close() })
	data := randomBytes(40, 5<<20+3) // no multiple of any block
	s.put(t, ctx, src.Join("tpc-source"), data)
	p, err := copy.Run(ctx, s.c, []string{src.Join("tpc-source").String()}, dst.Join("tpc-target").String(),
		copy.Options{TPC: copy.TPCOnly, Verify: copy.VerifyAlways})
	must(t, err)
	// The servers report how much they copied.
	if p.Bytes != int64(len(data)) {
		t.Errorf("progress is %+v", p)
	}
	if got := s.get(t, ctx, dst.Join("tpc-target")); !bytes.Equal(got, data) {
		t.Error("the copy is not the source")
	}
	// The target must know its checksum without the copy, too.
	sum, err := s.c.Checksum(ctx, dst.Join("tpc-target"), hemera.Adler32)
	must(t, err)
	if sum.Kind != hemera.Adler32 {
		t.Errorf("checksum is %s", sum)
	}
}
