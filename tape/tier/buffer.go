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
	space hemera.SpaceName
	bytes int64
	end   func() // of its grant; nil: it has none
}

// fillOf returns the room that a recalled file takes.
func fillOf(e *hemera.Entry) fill {
	return fill{space: e.Space, bytes: layout.Physical(e.Layout, e.Size)}
}

// buffer is the room of spaces, and what of it is reserved. The lock of mounts is held over its methods. They alone
// change reservations.
type buffer struct {
	view     func() *hemera.View                // nil: the room is not known, and there is enough
	keep     func(space hemera.SpaceName) int64 // percent that recalls leave free
	reserved map[hemera.SpaceName]int64         // the sums of all reservations, by space
	short    map[mounting.Key]fill              // what queues lacked whose last session found no room
}

// reservation is the room that one mount has of the buffer.
type reservation struct {
	queue    mounting.Key            // that the mount works on
	expected int64                   // bytes that count until the mount asks for room for a job
	asked    bool                    // it did, whether there was some or not
	jobs     map[tapeapi.JobKey]fill // of jobs that are not done
}

// newBuffer returns a buffer without reservations.
func newBuffer(view func() *hemera.View, keep func(space hemera.SpaceName) int64) buffer {
	return buffer{view, keep, map[hemera.SpaceName]int64{}, map[mounting.Key]fill{}}
}

// open returns the reservation of a mount that begins, without room.
func (b *buffer) open(queue mounting.Key) *reservation {
	return &reservation{queue: queue, jobs: map[tapeapi.JobKey]fill{}}
}

// expect notes the bytes with which a mount was decided.
func (b *buffer) expect(r *reservation, bytes int64) { r.expected = bytes }

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
func (b *buffer) roomOf(space hemera.SpaceName) int64 {
	_, free, capacity := roomOf(b.view(), space)
	return free - capacity/100*b.keep(space)
}

// reserve takes the room for a job that a mount was given. It is false if
// there is none: then the job waits.
func (b *buffer) reserve(r *reservation, k tapeapi.JobKey, f fill) bool {
	if r.asked = true; b.view == nil || r.queue.Kind != tapeapi.Recall {
		return true
	}
	if f.bytes > b.roomOf(f.space)-b.reserved[f.space] {
		b.short[r.queue] = f
		return false
	}
	b.reserved[f.space] += f.bytes
	r.jobs[k] = f
	return true
}

// release frees what a job reserved, and ends its grant, if there are any.
func (b *buffer) release(r *reservation, k tapeapi.JobKey) {
	f := r.jobs[k]
	delete(r.jobs, k)
	if f.end != nil {
		f.end()
	}
	if b.reserved[f.space] -= f.bytes; b.reserved[f.space] <= 0 {
		delete(b.reserved, f.space)
	}
}

// granted notes the grant of a job that the mount still has. end must not wait.
func (b *buffer) granted(r *reservation, k tapeapi.JobKey, end func()) {
	f := r.jobs[k]
	if f.end != nil { // its answer was lost, and the server asks again
		f.end()
	}
	f.end = end
	r.jobs[k] = f
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
	room := b.roomOf(f.space) - b.reserved[f.space]
	if f.bytes <= room {
		delete(b.short, k)
		return ""
	}
	return fmt.Sprintf("space %s has room for %d MB of recalled files, and a file needs %d MB", f.space, max(0, room)/1e6, (f.bytes+1e6-1)/1e6)
}

// bytes returns the room that the mount may still take: that of its jobs or, before it asked for some, what it was decided with.
func (r *reservation) bytes() (sum int64) {
	if !r.asked {
		return r.expected
	}
	for _, f := range r.jobs {
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
