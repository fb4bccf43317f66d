package tier

import (
	"fmt"

	"hemera/rules/layout"
	"hemera/tape/mounting"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// The disks of spaces are the buffer of tape. A recall needs room there, in
// the space of its file, and a buffer without room delays recalls and fails
// none. Room is looked at three times:
//
//	before a mount      the rules compare all spaces together with what a session needs to begin
//	with each job       what is given to mounts is reserved in the space of the file until it is done
//	where it is written a node that has no room after all says so, and the job is put off
//
// What nodes report as free is some seconds old. Reservations bridge that
// while files are under way, and what spaces keep free does afterwards.

// fill is the room that a file needs on disks.
type fill struct {
	space string
	bytes int64
	end   func() // of its grant; nil: it has none
}

// fillOf returns the room that a recalled file takes.
func fillOf(e *hemera.Entry) fill {
	return fill{space: e.Space, bytes: layout.Physical(e.Layout, e.Size)}
}

// buffer is the room of spaces, and what of it is reserved. The lock of the
// tier is held over its methods.
type buffer struct {
	view    func() *hemera.View      // nil: nobody knows the room, and there is enough
	keep    func(space string) int64 // percent that recalls leave free
	filling map[string]int64         // what is reserved, by space
	short   map[mounting.Key]fill    // what queues lacked whose last session found no room
}

// room returns the room of all spaces, as decisions see it. They subtract the reserved bytes.
func (b *buffer) room(batch int64) mounting.Buffer {
	if b.view == nil {
		const unknown = int64(1) << 60
		return mounting.Buffer{Free: unknown}
	}
	// A space that lacks room is not paid for by another one.
	r := mounting.Buffer{Batch: batch}
	for _, s := range b.view().Spaces {
		r.Free += max(0, b.roomOf(s.Name))
	}
	return r
}

// roomOf returns the bytes that recalls may put into a space, reserved ones included.
func (b *buffer) roomOf(space string) int64 {
	_, free, capacity := roomOf(b.view(), space)
	return free - capacity/100*b.keep(space)
}

// reserve takes the room for a job that a mount was given. It is false if
// there is none: then the job waits.
func (b *buffer) reserve(m *mount, k tapeapi.JobKey, f fill) bool {
	if m.began = true; b.view == nil || m.kind != tapeapi.Recall {
		return true
	}
	if f.bytes > b.roomOf(f.space)-b.filling[f.space] {
		b.short[keyOf(m.kind, m.queue())] = f
		return false
	}
	b.filling[f.space] += f.bytes
	m.filling[k] = f
	return true
}

// unreserve frees what a job reserved, if it did.
func (b *buffer) unreserve(m *mount, k tapeapi.JobKey) {
	f := m.filling[k]
	delete(m.filling, k)
	if f.end != nil {
		f.end()
	}
	if b.filling[f.space] -= f.bytes; b.filling[f.space] <= 0 {
		delete(b.filling, f.space)
	}
}

// granted notes the grant of a job that has reserved its room. end must
// not wait; a mount that does not have the job any more ends the grant at
// once.
func (b *buffer) granted(m *mount, k tapeapi.JobKey, end func()) {
	f := m.filling[k]
	if f.end != nil { // its answer was lost, and the server asks again
		f.end()
	}
	if _, has := m.given[k]; !has {
		end()
		return
	}
	f.end = end
	m.filling[k] = f
}

// lacks says what a queue lacks whose last session found no room for a
// file, "" when there is room by now.
func (b *buffer) lacks(k mounting.Key) string {
	f, is := b.short[k]
	if !is {
		return ""
	}
	// Looked at again with each picture: nodes report what was evicted, and
	// other mounts end, without an event.
	room := b.roomOf(f.space) - b.filling[f.space]
	if f.bytes <= room {
		delete(b.short, k)
		return ""
	}
	return fmt.Sprintf("space %s has room for %d MB of recalled files, and a file needs %d MB", f.space, max(0, room)/1e6, (f.bytes+1e6-1)/1e6)
}

// fills returns the room that a mount may still take: that of its jobs or, before it has some, what it was decided with.
func (m *mount) fills() (sum int64) {
	if !m.began {
		return m.reserved
	}
	for _, f := range m.filling {
		sum += f.bytes
	}
	return sum
}

// keyOf names a queue as decisions do.
func keyOf(kind tapeapi.JobKind, name string) mounting.Key {
	if kind == tapeapi.Archive {
		return mounting.Key{Kind: kind, Pool: tapeapi.PoolName(name)}
	}
	return mounting.Key{Kind: kind, VID: hemera.VID(name)}
}
