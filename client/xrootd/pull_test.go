package xrootd_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"hemera/client/xrootd"
	"hemera/client/xrootd/xrootdtest"
	"hemera/rules/wire"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// memoryFile is a hemera.File in memory that verifies the sums it gets.
type memoryFile struct {
	hemera.File
	t    *testing.T
	data []byte
	fail error
}

func (m *memoryFile) WritePages(p []byte, sums []uint32, off int64) error {
	if m.fail != nil {
		return m.fail
	}
	want := xrootdtest.Sums(p, off)
	if len(sums) != len(want) {
		m.t.Errorf("%d sums for %d pages", len(sums), len(want))
	}
	for i := range want {
		if sums[i] != want[i] {
			m.t.Errorf("sum %d of the write at %d is wrong", i, off)
		}
	}
	if end := int(off) + len(p); end > len(m.data) {
		m.data = append(m.data, make([]byte, end-len(m.data))...)
	}
	copy(m.data[off:], p)
	return nil
}

func TestPull(t *testing.T) {
	for _, size := range []int{0, 1, 5000, 1_000_003} {
		data := xrootdtest.Pattern(size)
		s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
			switch r.ID {
			case wire.ReqOpen: // the source waits until the client has named the destination
				b := wire.AppendResponse(nil, r.Stream, wire.StatusWaitResp, wire.Wait{Seconds: 9}.Append(nil))
				reply := wire.OpenReply{Handle: wire.Handle{1}, Stat: &wire.StatInfo{Size: int64(size)}}.Append(nil, false)
				return wire.AppendAsync(b, r.Stream, wire.StatusOK, reply)
			case wire.ReqPgread:
				return xrootdtest.Pages(r, data)
			}
			return xrootdtest.Good(r, nil)
		})
		c := xrootd.New(xrootd.Options{Chunk: 64 << 10, Window: 256 << 10})
		defer c.Close()
		dst := &memoryFile{t: t}
		var seen int64
		n, err := xrootd.Pull(t.Context(), c, xrootd.PullRequest{
			Source: s.URL("/").Endpoint, Path: "//dir//f", Key: "KEY", Origins: []string{"me.1@here"}, Opaque: "authz=x",
		}, dst, func(n int64) { seen = n })
		if err != nil || n != int64(size) || seen != n || !bytes.Equal(dst.data, data) {
			t.Errorf("pulled %d of %d bytes, saw %d, %v", n, size, seen, err)
		}
		path, o := wire.SplitPath([]byte(s.Got(wire.ReqOpen)[0].Payload))
		if path != "/dir/f" || o.Value("tpc.key") != "KEY" || o.Value("tpc.org") != "me.1@here" || o.Value("authz") != "x" {
			t.Errorf("the source was asked for %s?%s", path, o)
		}
		if size == 0 {
			continue
		}
		dst = &memoryFile{t: t, fail: errs.New(errs.NoSpace, "write", "f", "")}
		if _, err := xrootd.Pull(context.Background(), c, xrootd.PullRequest{Source: s.URL("/").Endpoint, Path: "/f", Origins: []string{"me.1@here"}}, dst, nil); !errors.Is(err, errs.NoSpace) {
			t.Errorf("pull onto a full disk: %v", err)
		}
	}
}

// A source that ends early must not count as a whole file.
func TestPullOfShortSource(t *testing.T) {
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		switch r.ID {
		case wire.ReqOpen:
			return xrootdtest.Opened(r, 5000)
		case wire.ReqPgread:
			return xrootdtest.Pages(r, xrootdtest.Pattern(4000))
		}
		return xrootdtest.Good(r, nil)
	})
	if n, err := xrootd.Pull(t.Context(), quick(t), xrootd.PullRequest{Source: s.URL("/").Endpoint, Path: "/f", Origins: []string{"me.1@here"}}, &memoryFile{t: t}, nil); !errors.Is(err, errs.IO) {
		t.Errorf("pulled %d bytes, %v", n, err)
	}
}

// A source may know the client that ordered the copy by another name than the most likely one.
func TestPullNamesTheClientAsTheSourceDoes(t *testing.T) {
	s := xrootdtest.New(t, xrootdtest.DataServer, func(r xrootdtest.Request) []byte {
		switch r.ID {
		case wire.ReqOpen:
			if _, o := wire.SplitPath([]byte(r.Payload)); o.Value("tpc.org") != "me.1@[::1]" {
				return xrootdtest.Bad(r, wire.NotAuthorized, "no")
			}
			return xrootdtest.Opened(r, 4000)
		case wire.ReqPgread:
			return xrootdtest.Pages(r, xrootdtest.Pattern(4000))
		}
		return xrootdtest.Good(r, nil)
	})
	order := xrootd.PullRequest{Source: s.URL("/").Endpoint, Path: "/f", Origins: []string{"me.1@here", "me.1@[::1]", "me.1@::1"}}
	if n, err := xrootd.Pull(t.Context(), quick(t), order, &memoryFile{t: t}, nil); n != 4000 || err != nil {
		t.Errorf("pulled %d bytes, %v", n, err)
	}
	if opens := s.Got(wire.ReqOpen); len(opens) != 2 {
		t.Errorf("%d opens", len(opens))
	}
}
