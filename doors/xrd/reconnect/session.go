package reconnect

import (
	"encoding/binary"
	"time"

	"hemera/rules/wire"
)

// A session's id has the time of its begin, for a door that was started later and has no other record of the session: a
// mark and 48 bits of milliseconds. The other half is random.
const sessionMark = uint64('h')<<8 | 'm'

// MarkSession writes the time of a session's begin into its id.
func MarkSession(id *wire.SessionID, began time.Time) {
	binary.BigEndian.PutUint64(id[:], sessionMark<<48|uint64(began.UnixMilli())&(1<<48-1))
}

// BeganAt returns the time of a session's begin. It returns zero if the id does not have it, or has a future time.
func BeganAt(id wire.SessionID, now time.Time) time.Time {
	n := binary.BigEndian.Uint64(id[:])
	t := time.UnixMilli(int64(n & (1<<48 - 1)))
	if n>>48 != sessionMark || t.After(now) {
		return time.Time{}
	}
	return t
}
