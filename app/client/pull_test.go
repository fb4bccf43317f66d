package client_test

import (
	"bytes"
	"context"
	"errors"
	"testing"

	"hemera"
	"hemera/app/client"
	"hemera/errs"
	"hemera/rules/wire"
)

// memoryFile is a hemera.File in memory that checks the sums it is given.
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
	want := sumsOf(p, off)
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
		data := pattern(size)
		s := newScript(t, dataServer, func(r asked) []byte {
			switch r.ID {
			case wire.ReqOpen: // the source waits until the client has told it whom to expect
				b := wire.AppendResponse(nil, r.Stream, wire.StatusWaitResp, wire.Wait{Seconds: 9}.Append(nil))
				reply := wire.OpenReply{Handle: wire.Handle{1}, Stat: &wire.StatInfo{Size: int64(size)}}.Append(nil, false)
				return wire.AppendAsync(b, r.Stream, wire.StatusOK, reply)
			case wire.ReqPgread:
				return pages(r, data)
			}
			return good(r, nil)
		})
		c := client.New(client.Options{Chunk: 64 << 10, Window: 256 << 10})
		defer c.Close()
		dst := &memoryFile{t: t}
		var seen int64
		n, err := c.Pull(t.Context(), client.PullRequest{
			Source: s.url("/").Endpoint, Path: "//dir//f", Key: "KEY", Origins: []string{"me.1@here"}, Opaque: "authz=x",
		}, dst, func(n int64) { seen = n })
		if err != nil || n != int64(size) || seen != n || !bytes.Equal(dst.data, data) {
			t.Errorf("pulled %d of %d bytes, saw %d, %v", n, size, seen, err)
		}
		path, o := wire.SplitPath([]byte(s.got(wire.ReqOpen)[0].payload))
		if path != "/dir/f" || o.Value("tpc.key") != "KEY" || o.Value("tpc.org") != "me.1@here" || o.Value("authz") != "x" {
			t.Errorf("the source was asked for %s?%s", path, o)
		}
		if size == 0 {
			continue
		}
		dst = &memoryFile{t: t, fail: errs.New(errs.NoSpace, "write", "f", "")}
		if _, err := c.Pull(context.Background(), client.PullRequest{Source: s.url("/").Endpoint, Path: "/f", Origins: []string{"me.1@here"}}, dst, nil); !errors.Is(err, errs.NoSpace) {
			t.Errorf("pull onto a full disk: %v", err)
		}
	}
}

// A source that ends early must not pass for a whole file.
func TestPullOfShortSource(t *testing.T) {
	s := newScript(t, dataServer, func(r asked) []byte {
		switch r.ID {
		case wire.ReqOpen:
			return opened(r, 5000)
		case wire.ReqPgread:
			return pages(r, pattern(4000))
		}
		return good(r, nil)
	})
	if n, err := quick(t).Pull(t.Context(), client.PullRequest{Source: s.url("/").Endpoint, Path: "/f", Origins: []string{"me.1@here"}}, &memoryFile{t: t}, nil); !errors.Is(err, errs.IO) {
		t.Errorf("pulled %d bytes, %v", n, err)
	}
}

// A source may know the client that ordered the copy by another name than the likeliest.
func TestPullNamesTheClientAsTheSourceDoes(t *testing.T) {
	s := newScript(t, dataServer, func(r asked) []byte {
		switch r.ID {
		case wire.ReqOpen:
			if _, o := wire.SplitPath([]byte(r.payload)); o.Value("tpc.org") != "me.1@[::1]" {
				return bad(r, wire.NotAuthorized, "no")
			}
			return opened(r, 4000)
		case wire.ReqPgread:
			return pages(r, pattern(4000))
		}
		return good(r, nil)
	})
	order := client.PullRequest{Source: s.url("/").Endpoint, Path: "/f", Origins: []string{"me.1@here", "me.1@[::1]", "me.1@::1"}}
	if n, err := quick(t).Pull(t.Context(), order, &memoryFile{t: t}, nil); n != 4000 || err != nil {
		t.Errorf("pulled %d bytes, %v", n, err)
	}
	if opens := s.got(wire.ReqOpen); len(opens) != 2 {
		t.Errorf("%d opens", len(opens))
	}
}
