package disk

import (
	"fmt"
	"math"
	"time"

	"hemera/words/hemera"
)

const (
	// faultHalfLife is the half-life of the count of errors: a disk that stops making them is used again.
	faultHalfLife = 10 * time.Minute
	// faultLimit is the number of recent errors that makes a disk failing; it is ok again below faultForgiven.
	faultLimit    = 10.0
	faultForgiven = 2.0
	// refusalMemory is the time for which the disk counts as read-only after the filesystem refused a write as such.
	refusalMemory = time.Minute
)

// health has the signs of a disk's condition. Its zero value is a disk without signs. It changes only by its step
// methods, which are pure.
type health struct {
	faults  float64     // recent I/O and checksum errors, decaying
	at      time.Time   // that faults were last decayed to
	failing bool        // since faults reached faultLimit, until they are below faultForgiven
	refused time.Time   // when a write was last refused as read-only
	seen    observation // the last look
}

// observation is one look at a disk from outside.
type observation struct {
	Gone       string // why the label could not be found, or ""
	Filesystem uint64 // see Status.Filesystem
	Total      int64  // bytes
	Free       int64  // bytes, headroom not taken off; admit takes off what it lets in until the next look
	Inodes     int64
	InodesFree int64
	ReadOnly   bool // as mounted, which the kernel also changes by itself after an error
}

// decay forgets old faults.
func (h health) decay(now time.Time) health {
	if dt := now.Sub(h.at); dt > 0 {
		h.faults *= math.Exp2(-float64(dt) / float64(faultHalfLife))
		h.at = now
	}
	if h.failing && h.faults < faultForgiven {
		h.failing = false
	}
	return h
}

// fault counts an I/O or checksum error.
func (h health) fault(now time.Time) health {
	h = h.decay(now)
	h.faults++
	if h.faults >= faultLimit {
		h.failing = true
	}
	return h
}

// refusal notes that the filesystem refused a write as read-only.
func (h health) refusal(now time.Time) health {
	h.refused = now
	return h
}

// look notes what was seen of the disk.
func (h health) look(o observation, now time.Time) health {
	h = h.decay(now)
	h.seen = o
	return h
}

// verdict returns the disk's health, and the reason in words if it is not ok. The worst comes first: of a disk that is
// gone nothing else is known, and one that fails must not be filled.
func (h health) verdict(headroom int64, now time.Time) (hemera.DiskHealth, string) {
	switch {
	case h.seen.Gone != "":
		return hemera.HealthGone, h.seen.Gone
	case h.failing:
		return hemera.HealthFailing, fmt.Sprintf("%.0f recent I/O or checksum errors", h.faults)
	case h.seen.ReadOnly:
		return hemera.HealthReadOnly, "the filesystem is mounted read-only"
	case !h.refused.IsZero() && now.Sub(h.refused) < refusalMemory:
		return hemera.HealthReadOnly, "the filesystem refuses writes"
	case h.seen.Free <= headroom:
		return hemera.HealthFull, fmt.Sprintf("%d bytes free, %d are kept", h.seen.Free, headroom)
	}
	return hemera.HealthOK, ""
}

// NotAnswered says since when a device has not answered, for a [Status].
func NotAnswered(since time.Time) string {
	return "the device has not answered since " + since.UTC().Format(time.RFC3339)
}
