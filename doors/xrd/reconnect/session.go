package reconnect

import (
	"encoding/binary"
	"time"

	"hemera/rules/wire"
)

// A session's id says when it began, for a door that was started since and knows nothing else of it: a mark and 48 bits
// of milliseconds. The other half is random.
const sessionMark = uint64('h')<<8 | 'm'

// MarkSession writes into an id when its session began.
func MarkSession(id *wire.SessionID, began time.Time) {
	binary.BigEndian.PutUint64(id[:], sessionMark<<48|uint64(began.UnixMilli())&(1<<48-1))
}

// BeganAt returns when the session began, zero if its id does not say so, or says a time to come.
func BeganAt(id wire.SessionID, now time.Time) time.Time {
	n := binary.BigEndian.Uint64(id[:])
	t := time.UnixMilli(int64(n & (1<<48 - 1)))
	if n>>48 != sessionMark || t.After(now) {
		return time.Time{}
	}
	return t
}
