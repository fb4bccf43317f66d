package xrd

import (
	"fmt"
	"testing"
	"time"

	"hemera/rules/wire"
)

// BenchmarkDoor measures the door's time for opens, reads and writes of one client, over files in memory.
func BenchmarkDoor(b *testing.B) {
	p := newPair(b, nil)
	p.put("/f", string(make([]byte, 4<<20)))
	dial := func(addr string) *rawConn {
		c, err := dialRaw(addr)
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { _ = c.Close() })
		_ = c.SetDeadline(time.Time{})
		return c
	}
	m, n := dial(p.managerAddr), dial(p.nodeAddr)
	call := func(c *rawConn, r wire.Request, payload []byte) []byte {
		status, body, err := c.call(r, payload)
		if err != nil || status == wire.StatusError {
			b.Fatal(status, string(body), err)
		}
		return body
	}
	open := func(o wire.Open, path string) wire.Handle {
		to, err := wire.ParseRedirect(call(m, o, []byte(path)))
		if err != nil {
			b.Fatal(err)
		}
		r, err := wire.ParseOpenReply(call(n, o, []byte(to.Opaque.Join(path))))
		if err != nil {
			b.Fatal(err)
		}
		return r.Handle
	}
	b.Run("open", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			call(m, wire.Open{Options: wire.OpenRead | wire.OpenAsync | wire.OpenRetStat}, []byte("/f"))
		}
	})
	read := open(wire.Open{Options: wire.OpenRead}, "/f")
	write := open(wire.Open{Options: wire.OpenNew | wire.OpenUpdate | wire.OpenAsync}, "/w")
	for _, size := range []int{4 << 10, 64 << 10, 4 << 20} {
		data := make([]byte, size)
		b.Run(fmt.Sprintf("read/%dKiB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				call(n, wire.Read{Handle: read, Length: int32(size)}, nil)
			}
		})
		b.Run(fmt.Sprintf("write/%dKiB", size>>10), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(size))
			for b.Loop() {
				call(n, wire.Write{Handle: write}, data)
			}
		})
	}
}
