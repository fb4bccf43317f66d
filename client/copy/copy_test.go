package copy_test

import (
	"errors"
	"fmt"
	"hash/adler32"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"hemera/client/copy"
	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
	"hemera/rules/wire"
	"hemera/words/errs"
)

// breaking starts a server whose file cannot be read beyond its first half while broken is set. With broken nil the
// server has no checksums.
func breaking(t *testing.T, data []byte, broken *atomic.Bool) *xrootdtest.Server {
	return xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		switch r.ID {
		case wire.ReqStat:
			return xrootdtest.Good(r, append(wire.StatInfo{ID: 1, Size: int64(len(data))}.Append(nil), 0))
		case wire.ReqOpen:
			return xrootdtest.Opened(r, int64(len(data)))
		case wire.ReqPgread:
			if broken != nil && broken.Load() && wire.DecodePgread(r.Body).Offset >= int64(len(data)/2) {
				return xrootdtest.Bad(r, wire.IOError, "unreadable")
			}
			return xrootdtest.Pages(r, data)
		case wire.ReqQuery:
			if wire.DecodeQuery(r.Body).Kind != wire.QueryChecksum || broken == nil {
				return xrootdtest.Bad(r, wire.Unsupported, "no checksums")
			}
			return xrootdtest.Good(r, fmt.Appendf(nil, "adler32 %08x", adler32.Checksum(data)))
		}
		return xrootdtest.Good(r, nil)
	})
}

func TestFailedDownloadLeavesAPart(t *testing.T) {
	data := xrootdtest.Pattern(1 << 20)
	var broken atomic.Bool
	broken.Store(true)
	s := breaking(t, data, &broken)
	c := xrootd.New(xrootd.Options{Chunk: 64 << 10})
	defer c.Close()
	dir := t.TempDir()
	local, part := filepath.Join(dir, "f"), filepath.Join(dir, ".f.hemera-part")
	from := []string{s.URL("/f").String()}
	for _, o := range []copy.Options{{}, {Continue: true}} {
		p, err := copy.Run(t.Context(), c, from, local, o)
		if !errors.Is(err, errs.IO) || p.Failed != 1 || p.Kept != 1 {
			t.Errorf("copy of an unreadable file: %+v, %v", p, err)
		}
		if i, err := os.Stat(part); err != nil || i.Size() != 1<<19 {
			t.Errorf("the part is %+v, %v", i, err)
		}
		if _, err := os.Stat(local); err == nil {
			t.Error("an unfinished file has its final name")
		}
	}
	broken.Store(false)
	before := len(s.Got(wire.ReqPgread))
	if _, err := copy.Run(t.Context(), c, from, local, copy.Options{Continue: true}); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(local); err != nil || string(got) != string(data) {
		t.Errorf("the resumed file has %d bytes, %v", len(got), err)
	}
	if n := len(s.Got(wire.ReqPgread)) - before; n > 8 {
		t.Errorf("%d reads to resume half of a file of 16", n)
	}
}

// Without a checksum of the source, nothing proves that a part belongs to it.
func TestWithoutChecksumsNothingIsGoneOnWith(t *testing.T) {
	data := xrootdtest.Pattern(1 << 20)
	s := breaking(t, data, nil)
	c := xrootd.New(xrootd.Options{Chunk: 64 << 10})
	defer c.Close()
	dir := t.TempDir()
	local := filepath.Join(dir, "f")
	if err := os.WriteFile(filepath.Join(dir, ".f.hemera-part"), data[:1<<19], 0o600); err != nil {
		t.Fatal(err)
	}
	from := []string{s.URL("/f").String()}
	p, err := copy.Run(t.Context(), c, from, local, copy.Options{Continue: true})
	if err != nil || p.Bytes != int64(len(data)) || len(s.Got(wire.ReqPgread)) < 16 {
		t.Errorf("%+v, %v after %d reads", p, err, len(s.Got(wire.ReqPgread)))
	}
	if got, err := os.ReadFile(local); err != nil || string(got) != string(data) {
		t.Errorf("the file has %d bytes, %v", len(got), err)
	}
	if _, err := copy.Run(t.Context(), c, from, local, copy.Options{Force: true, Verify: copy.VerifyAlways}); !errors.Is(err, errs.Unsupported) {
		t.Errorf("a copy that must be verified where there are no checksums: %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 1 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFailedUploadIsGivenUp(t *testing.T) {
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		switch r.ID {
		case wire.ReqStat:
			return xrootdtest.Bad(r, wire.NotFound, "no such file")
		case wire.ReqOpen:
			return xrootdtest.Opened(r, 0)
		case wire.ReqPgwrite:
			return xrootdtest.Bad(r, wire.OverQuota, "no more")
		}
		return xrootdtest.Good(r, nil)
	})
	local := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(local, xrootdtest.Pattern(100_000), 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := copy.Run(t.Context(), quick(t), []string{local}, s.URL("/f").String(), copy.Options{})
	if !errors.Is(err, errs.OverQuota) {
		t.Errorf("upload over quota: %v", err)
	}
	q := s.Got(wire.ReqQuery)
	if len(q) != 2 || q[1].Payload != wire.OpaqueAbort || len(s.Got(wire.ReqClose)) != 1 {
		t.Errorf("the write was ended by %+v", q)
	}
	if len(s.Got(wire.ReqRm)) != 0 {
		t.Error("a file that was aborted was also removed: it may be the one of before")
	}
}

// A node that stops aborts the files that are written through it. The copy begins again at another node, as with stock
// clients.
func TestAWriteThatTheServerLosesIsBegunAnew(t *testing.T) {
	data := xrootdtest.Pattern(300_000)
	for _, c := range []struct {
		name  string
		code  wire.Code
		times int32
		want  errs.Kind // Internal: it succeeds
		opens int
	}{
		{"once", wire.Conflict, 1, errs.Internal, 2},
		{"by a server of before", wire.FileNotOpen, 3, errs.Internal, 4},
		{"by a server started since", wire.ServerError, 1, errs.Internal, 2},
		{"again and again", wire.NoServer, 100, errs.Unavailable, 4},
		{"for good", wire.OverQuota, 1, errs.OverQuota, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			var lost atomic.Int32
			s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
				switch r.ID {
				case wire.ReqStat:
					return xrootdtest.Bad(r, wire.NotFound, "no such file")
				case wire.ReqOpen:
					return xrootdtest.Opened(r, 0)
				case wire.ReqPgwrite:
					if wire.DecodePgwrite(r.Body).Offset >= 200_000 && lost.Add(1) <= c.times {
						return xrootdtest.Bad(r, c.code, "lost")
					}
					return xrootdtest.Written(r, nil)
				case wire.ReqQuery:
					return xrootdtest.Bad(r, wire.Unsupported, "no checksums")
				}
				return xrootdtest.Good(r, nil)
			})
			local := filepath.Join(t.TempDir(), "f")
			if err := os.WriteFile(local, data, 0o644); err != nil {
				t.Fatal(err)
			}
			cl := xrootd.New(xrootd.Options{Chunk: 100_000, Window: 100_000})
			defer cl.Close()
			p, err := copy.Run(t.Context(), cl, []string{local}, s.URL("/f").String(), copy.Options{})
			if (c.want == errs.Internal) != (err == nil) || err != nil && !errors.Is(err, c.want) {
				t.Errorf("got %v", err)
			}
			if n := len(s.Got(wire.ReqOpen)); n != c.opens {
				t.Errorf("%d opens, not %d", n, c.opens)
			}
			if err == nil && p.Bytes != int64(len(data)) {
				t.Errorf("counted %+v", p)
			}
		})
	}
}

// A ? in a name would cut it off: the copy would have another name, or replace another file.
func TestANameThatCannotBeSaidIsNotCopied(t *testing.T) {
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		switch r.ID {
		case wire.ReqStat:
			return xrootdtest.Bad(r, wire.NotFound, "no such file")
		case wire.ReqOpen:
			return xrootdtest.Opened(r, 0)
		}
		return xrootdtest.Good(r, nil)
	})
	dir := filepath.Join(t.TempDir(), "tree")
	if err := os.MkdirAll(filepath.Join(dir, "b?c"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a?size=1", "b?c/d", "good"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	c := quick(t)
	p, err := copy.Run(t.Context(), c, []string{dir}, s.URL("/").String(), copy.Options{Recursive: true})
	if !errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "" {
		t.Errorf("%+v, %v", p, err)
	}
	for _, id := range []wire.RequestID{wire.ReqOpen, wire.ReqMkdir} {
		for _, r := range s.Got(id) {
			if path, _, _ := strings.Cut(r.Payload, "?"); path == "/a" || strings.HasPrefix(path, "/b") {
				t.Errorf("the server was asked for %s", r.Payload)
			}
		}
	}
}

func quick(t *testing.T) *xrootd.Client {
	c := xrootd.New(xrootd.Options{RetryFor: time.Second})
	t.Cleanup(func() { c.Close() })
	return c
}
