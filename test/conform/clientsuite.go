package conform

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/adler32"
	"io"
	"math/rand/v2"
	"path"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Client proves that package xrootd and the server at the URL of an empty, writable directory
// understand each other: names, attributes, whole and partial reads and writes, listings, checksums
// and copies. Any XRootD server must pass.
//
// Each part has a directory of its own and a minute of time. Parts share one client, and so its sessions.
func Client(t *testing.T, url string) {
	base, err := xrootd.ParseURL(url)
	if err != nil {
		t.Fatal(err)
	}
	// Five seconds: a server of a test is there at once or not at all.
	s := &clientSuite{base: base, c: xrootd.New(xrootd.Options{RetryFor: 5 * time.Second})}
	t.Cleanup(func() { s.c.Close() })
	for _, check := range []struct {
		name string
		run  func(*testing.T, context.Context, xrootd.URL)
	}{
		{"names", s.names}, {"listing", s.listing}, {"bigListing", s.bigListing}, {"attributes", s.attributes},
		{"errors", s.errors}, {"sizes", s.sizes}, {"pages", s.pages}, {"vector", s.vector}, {"stream", s.stream},
		{"update", s.update}, {"concurrent", s.concurrent}, {"queries", s.queries},
		{"copies", s.copies}, {"oddities", s.oddities}, {"resume", s.resume},
	} {
		t.Run(check.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
			defer cancel()
			dir := s.base.Join(check.name) // a name that no other part has
			must(t, s.c.Mkdir(ctx, dir, 0o755, true))
			check.run(t, ctx, dir)
		})
	}
}

// clientSuite is one run of the client's suite against one server.
type clientSuite struct {
	base xrootd.URL     // of the directory for everything
	c    *xrootd.Client // shared by all parts
}

// must ends the test if there is an error.
// For steps that the rest depends on.
func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err) // a fatal error ends this part only
	}
}

// wantKind fails the test unless the error has one of the kinds.
// Several kinds where servers map their errors differently.
func wantKind(t testing.TB, err error, kinds ...errs.Kind) {
	t.Helper()
	for _, k := range kinds {
		if errors.Is(err, k) {
			return
		}
	}
	t.Errorf("error is %v, want one of %v", err, kinds)
}

// randomBytes returns the same for the same seed.
// A failure can be repeated, and no test needs to keep what it wrote.
func randomBytes(seed uint64, n int) []byte {
	var key [32]byte
	key[0] = byte(seed)
	b := make([]byte, n)
	rand.NewChaCha8(key).Read(b)
	return b
}

// put writes a file.
// Size announces the length, as a copy does.
func (s *clientSuite) put(t testing.TB, ctx context.Context, u xrootd.URL, data []byte) {
	t.Helper()
	f, err := s.c.Open(ctx, u, xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644, Size: int64(len(data))})
	must(t, err)
	must(t, f.WriteAt(ctx, data, 0))
	must(t, f.Close(ctx))
}

// get reads a file.
// It reads ahead, as programs do that read a whole file.
func (s *clientSuite) get(t testing.TB, ctx context.Context, u xrootd.URL) []byte {
	t.Helper()
	f, err := s.c.Open(ctx, u, xrootd.OpenOptions{})
	must(t, err)
	defer f.Close(ctx)
	r := f.NewReader(ctx, 0, hemera.FileSizeMax)
	defer r.Close()
	data, err := io.ReadAll(r)
	must(t, err)
	return data
}

// names checks mkdir, rename, remove and rmdir.
// Servers refuse a directory that is not empty with different codes.
func (s *clientSuite) names(t *testing.T, ctx context.Context, dir xrootd.URL) {
	deep := dir.Join("a/b/c")
	must(t, s.c.Mkdir(ctx, deep, 0o755, true))
	must(t, s.c.Mkdir(ctx, deep, 0o755, true)) // the second time it exists, which is no error with parents
	wantKind(t, s.c.Mkdir(ctx, dir.Join("no/such/parent"), 0o755, false), errs.NotFound)
	info, err := s.c.Stat(ctx, deep)
	must(t, err)
	if !info.IsDir() || info.Name != "c" {
		t.Errorf("stat of a directory: %+v", info)
	}
	file := dir.Join("file with blanks") // blanks need no escape in a path of the protocol
	s.put(t, ctx, file, []byte("hello"))
	info, err = s.c.Stat(ctx, file)
	must(t, err)
	if info.IsDir() || info.Size != 5 {
		t.Errorf("stat of a file: %+v", info)
	}
	must(t, s.c.Rename(ctx, file, path.Join(dir.Path, "a/renamed")))
	_, err = s.c.Stat(ctx, file)
	wantKind(t, err, errs.NotFound)
	renamed := dir.Join("a/renamed")
	must(t, s.c.Chmod(ctx, renamed, 0o640))
	// By path, without opening the file.
	must(t, s.c.Truncate(ctx, renamed, 3))
	if got := s.get(t, ctx, renamed); string(got) != "hel" {
		t.Errorf("after truncate the file is %q", got)
	}
	wantKind(t, s.c.Rmdir(ctx, dir.Join("a")), errs.NotEmpty, errs.Exists, errs.IO)
	must(t, s.c.Remove(ctx, renamed))
	must(t, s.c.Rmdir(ctx, deep))
	must(t, s.c.Ping(ctx, dir.Endpoint)) // a session that did all that is still alive
}

// list returns a listing by name.
// It finds entries that are listed twice, which a count would not show.
func (s *clientSuite) list(t testing.TB, ctx context.Context, dir xrootd.URL) map[string]xrootd.Info {
	t.Helper()
	found := map[string]xrootd.Info{}
	must(t, s.c.List(ctx, dir, func(i xrootd.Info) error {
		if _, twice := found[i.Name]; twice {
			t.Errorf("%q is listed twice", i.Name)
		}
		found[i.Name] = i
		return nil
	}))
	return found
}

// listing checks small listings with their properties.
// Properties come with the listing, without a stat for each entry.
func (s *clientSuite) listing(t *testing.T, ctx context.Context, dir xrootd.URL) {
	if n := len(s.list(t, ctx, dir)); n != 0 {
		t.Errorf("empty directory lists %d entries", n)
	}
	s.put(t, ctx, dir.Join("f"), make([]byte, 123))
	must(t, s.c.Mkdir(ctx, dir.Join("d"), 0o755, false))
	found := s.list(t, ctx, dir)
	if len(found) != 2 || found["f"].Size != 123 || found["f"].IsDir() || !found["d"].IsDir() {
		t.Errorf("listing is %+v", found)
	}
	// An error of the visitor is returned as it is.
	stop := errors.New("stop")
	if err := s.c.List(ctx, dir, func(xrootd.Info) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("a listing that the visitor ends returns %v", err)
	}
	wantKind(t, s.c.List(ctx, dir.Join("missing"), func(xrootd.Info) error { return nil }), errs.NotFound)
}

// bigListing checks a listing that takes several responses.
func (s *clientSuite) bigListing(t *testing.T, ctx context.Context, dir xrootd.URL) {
	const n = 500
	for i := range n {
		must(t, s.c.Mkdir(ctx, dir.Join(fmt.Sprintf("a-rather-long-name-of-a-directory-%04d", i)), 0o755, false))
	}
	found := 0
	// Names are counted, not kept: list checks them elsewhere.
	// The visitor runs between responses: a client that held a lock meanwhile would stop here.
	must(t, s.c.List(ctx, dir, func(i xrootd.Info) error {
		found++
		if found%100 == 0 { // the visitor may use the client
			_, err := s.c.Stat(ctx, dir.Join(i.Name))
			return err
		}
		return nil
	}))
	if found != n {
		t.Errorf("listed %d entries, made %d", found, n)
	}
}

// attributes checks modes and times.
// It skips itself on a filesystem without extended attributes, as the stock server may have.
func (s *clientSuite) attributes(t *testing.T, ctx context.Context, dir xrootd.URL) {
	u := dir.Join("f")
	s.put(t, ctx, u, []byte("x"))
	err := s.c.Xattrs(u).Set(ctx, "colour", []byte("blue"), false)
	if errors.Is(err, errs.Unsupported) {
		t.Skip("the server has no attributes here: ", err)
	}
	must(t, err)
	must(t, s.c.Xattrs(u).Set(ctx, "binary", []byte{0, 1, 255}, false))             // any bytes are a value
	wantKind(t, s.c.Xattrs(u).Set(ctx, "colour", []byte("red"), true), errs.Exists) // true: must not exist yet
	got, err := s.c.Xattrs(u).Get(ctx, "colour")
	must(t, err)
	if string(got) != "blue" {
		t.Errorf("attribute is %q", got)
	}
	all, err := s.c.Xattrs(u).All(ctx)
	must(t, err)
	if string(all["colour"]) != "blue" || !bytes.Equal(all["binary"], []byte{0, 1, 255}) {
		t.Errorf("attributes are %q", all)
	}
	must(t, s.c.Xattrs(u).Remove(ctx, "colour"))
	_, err = s.c.Xattrs(u).Get(ctx, "colour")
	wantKind(t, err, errs.NoAttribute)
}

// errors checks the kinds of errors.
// Kinds are what programs act on; texts differ between servers.
func (s *clientSuite) errors(t *testing.T, ctx context.Context, dir xrootd.URL) {
	_, err := s.c.Open(ctx, dir.Join("missing"), xrootd.OpenOptions{})
	wantKind(t, err, errs.NotFound)
	_, err = s.c.Open(ctx, dir, xrootd.OpenOptions{})
	wantKind(t, err, errs.IsDirectory)
	u := dir.Join("f")
	s.put(t, ctx, u, []byte("x"))
	_, err = s.c.Open(ctx, u, xrootd.OpenOptions{Write: true, Create: true, Exclusive: true})
	wantKind(t, err, errs.Exists)
	_, err = s.c.Open(ctx, dir.Join("missing"), xrootd.OpenOptions{Write: true})
	wantKind(t, err, errs.NotFound)
	f, err := s.c.Open(ctx, u, xrootd.OpenOptions{})
	must(t, err)
	must(t, f.Close(ctx))
	_, err = f.ReadAt(ctx, make([]byte, 1), 0) // the handle is closed
	wantKind(t, err, errs.BadHandle)
}

// sizes checks files around the sizes of pages and requests.
// Most sizes are one less, equal, or one more than a boundary.
func (s *clientSuite) sizes(t *testing.T, ctx context.Context, dir xrootd.URL) {
	for _, n := range []int{0, 1, 4095, 4096, 4097, 1<<20 - 1, 1 << 20, 1<<20 + 1, 3<<20 + 17} {
		u := dir.Join(fmt.Sprint(n))
		data := randomBytes(uint64(n), n)
		s.put(t, ctx, u, data)
		if got := s.get(t, ctx, u); !bytes.Equal(got, data) {
			t.Errorf("%d bytes come back as %d, or changed", n, len(got))
		}
	}
}

// pages checks reads and writes with page checksums.
// Offsets and lengths begin and end within pages, across them and behind the end of the file.
func (s *clientSuite) pages(t *testing.T, ctx context.Context, dir xrootd.URL) {
	u := dir.Join("f")
	const size = 2<<20 + 777
	data := randomBytes(7, size)
	s.put(t, ctx, u, data)
	f, err := s.c.Open(ctx, u, xrootd.OpenOptions{})
	must(t, err)
	defer f.Close(ctx)
	if f.Info().Size != size {
		t.Errorf("open says %d bytes", f.Info().Size)
	} // none of the reads may depend on the one before
	for _, r := range []struct{ off, n int }{
		{0, 1}, {0, 4096}, {1, 4096}, {4095, 2}, {5000, 1 << 20}, {1<<20 - 1, 2}, {size - 10, 10}, {size - 10, 100}, {size, 10}, {size + 5000, 10},
	} {
		p := make([]byte, r.n)
		sums := make([]uint32, wire.Fragments(int64(r.off), int64(r.n)))
		n, err := f.ReadPages(ctx, p, sums, int64(r.off))
		want := data[min(r.off, size):min(r.off+r.n, size)]
		// io.EOF comes with every read that is short, and only then.
		if n != len(want) || !bytes.Equal(p[:n], want) || (n < r.n) != (err == io.EOF) {
			t.Errorf("read of %d at %d: %d bytes, %v", r.n, r.off, n, err)
			continue
		}
		// The last fragment of a short read has the checksum of the bytes that were read.
		expect := wire.SumPages(make([]uint32, len(sums)), want, int64(r.off))
		for i := range expect {
			if sums[i] != expect[i] {
				t.Errorf("read of %d at %d: sum %d is wrong", r.n, r.off, i)
			}
		}
	}
}

// vector checks vector reads.
// The client splits what is more than the server's limits allow, and puts the answers in their places.
func (s *clientSuite) vector(t *testing.T, ctx context.Context, dir xrootd.URL) {
	u := dir.Join("f")
	const size = 5 << 20
	data := randomBytes(8, size)
	s.put(t, ctx, u, data)
	f, err := s.c.Open(ctx, u, xrootd.OpenOptions{})
	must(t, err)
	defer f.Close(ctx)
	rng := rand.New(rand.NewPCG(3, 4))
	var ranges []xrootd.Range // random, so that ranges overlap and repeat
	for range 1500 {          // more than one request takes
		ranges = append(ranges, xrootd.Range{Off: rng.Int64N(size - 3000), P: make([]byte, 1+rng.IntN(3000))})
	}
	ranges = append(ranges, xrootd.Range{Off: 7, P: make([]byte, 3<<20)}) // more than one element takes
	must(t, f.ReadVector(ctx, ranges))
	for _, r := range ranges {
		if !bytes.Equal(r.P, data[r.Off:][:len(r.P)]) {
			t.Fatalf("the %d bytes at %d are wrong", len(r.P), r.Off)
		}
	}
	// A vector is all or nothing: the protocol has no short element.
	err = f.ReadVector(ctx, []xrootd.Range{{Off: size - 1, P: make([]byte, 2)}})
	if err == nil {
		t.Error("a vector beyond the end is read")
	}
}

// stream checks the reader that reads ahead.
// Writes of random lengths must come out as one stream, in order.
func (s *clientSuite) stream(t *testing.T, ctx context.Context, dir xrootd.URL) {
	u := dir.Join("f")
	data := randomBytes(3, 20<<20+5)
	f, err := s.c.Open(ctx, u, xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
	must(t, err)
	w := f.NewWriter(ctx, 0)
	// A fixed seed: a failure can be repeated.
	rng := rand.New(rand.NewPCG(1, 2))
	for rest := data; len(rest) > 0; { // at most 3 MiB at a time
		n := min(len(rest), 1+rng.IntN(3<<20))
		if _, err := w.Write(rest[:n]); err != nil {
			t.Fatal(err)
		}
		rest = rest[n:]
	}
	must(t, w.Flush()) // what the writer holds must reach the server before the sync
	must(t, f.Sync(ctx))
	info, err := f.Stat(ctx)
	must(t, err)
	if info.Size != int64(len(data)) {
		t.Errorf("stat of the open file says %d bytes", info.Size)
	}
	must(t, f.Close(ctx))
	if got := s.get(t, ctx, u); !bytes.Equal(got, data) {
		t.Error("the stream came back changed")
	}
}

// update checks writes into an existing file.
// Bytes that are not written stay, and a gap reads as zeros.
func (s *clientSuite) update(t *testing.T, ctx context.Context, dir xrootd.URL) {
	u := dir.Join("f")
	data := randomBytes(4, 100_000)
	s.put(t, ctx, u, data)
	f, err := s.c.Open(ctx, u, xrootd.OpenOptions{Write: true})
	must(t, err)
	patch := randomBytes(5, 10_001)
	must(t, f.WriteAt(ctx, patch, 33_333))
	must(t, f.WriteAt(ctx, patch, 120_000)) // leaves a hole
	must(t, f.Truncate(ctx, 125_000))
	must(t, f.Close(ctx))
	// The second patch was cut off by the truncation.
	want := append(bytes.Clone(data), make([]byte, 25_000)...)
	copy(want[33_333:], patch)
	copy(want[120_000:], patch)
	if got := s.get(t, ctx, u); !bytes.Equal(got, want) {
		t.Error("the updated file is not what was written")
	}
}

// concurrent checks many requests on one session at a time.
// Requests of several files are on one connection; their answers must reach the right callers.
func (s *clientSuite) concurrent(t *testing.T, ctx context.Context, dir xrootd.URL) {
	const files, size = 8, 300_000
	// Room for every result, so that no goroutine stays behind when the test ends early.
	done := make(chan error, files)
	for i := range files {
		go func() {
			u := dir.Join(fmt.Sprint(i))
			data := randomBytes(uint64(100+i), size)
			f, err := s.c.Open(ctx, u, xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
			if err == nil {
				err = errors.Join(f.WriteAt(ctx, data, 0), f.Close(ctx))
			}
			if err != nil {
				done <- err
				return
			}
			f, err = s.c.Open(ctx, u, xrootd.OpenOptions{})
			if err != nil {
				done <- err
				return
			}
			p := make([]byte, size)
			if _, err = f.ReadAt(ctx, p, 0); err == nil && !bytes.Equal(p, data) {
				err = fmt.Errorf("file %d came back changed", i)
			}
			done <- errors.Join(err, f.Close(ctx))
		}()
	}
	for range files {
		must(t, <-done)
	}
}

// queries checks checksums, configuration and space.
// An unknown key of the configuration is answered with its own name (kXR_QConfig).
func (s *clientSuite) queries(t *testing.T, ctx context.Context, dir xrootd.URL) {
	u := dir.Join("f")
	data := randomBytes(6, 70_000)
	s.put(t, ctx, u, data)
	sum, err := s.c.Checksum(ctx, u, hemera.Adler32)
	must(t, err)
	if want := fmt.Sprintf("adler32:%08x", adler32.Checksum(data)); sum.String() != want {
		t.Errorf("checksum is %s, want %s", sum, want)
	}
	_, err = s.c.Checksum(ctx, dir.Join("missing"), hemera.Adler32)
	wantKind(t, err, errs.NotFound)
	values, err := s.c.Config(ctx, dir.Endpoint, "readv_iov_max", "no_such_key") // one that all servers have, one that none has
	must(t, err)
	if len(values) != 2 || values[1] != "no_such_key" {
		t.Errorf("config is %q", values)
	}
	places, err := s.c.Locate(ctx, u, 0)
	must(t, err)
	if len(places) == 0 {
		t.Error("the file is located nowhere")
	}
	_, err = s.c.StatVFS(ctx, dir)
	must(t, err)
	space, err := s.c.Space(ctx, dir)
	must(t, err)
	if !space.Has("oss.free") {
		t.Errorf("space answer is %q", space)
	}
}
