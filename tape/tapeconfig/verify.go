package tapeconfig

import (
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// DueForVerification returns the tape with files that was not verified for longest, if that is longer than every; "" if there is none, or
// if every is zero. A tape that never was counts from its label. here says whether a library has a tape now.
func DueForVerification(tapes []tapeapi.Tape, now time.Time, every time.Duration, here func(vid hemera.VID) bool) (vid hemera.VID) {
	if every <= 0 {
		return ""
	}
	oldest := now.Add(-every)
	for _, t := range tapes {
		since := t.Verified
		if since.IsZero() {
			since = t.Labelled
		}
		// A tape without a label was made by something else, and is as old as its record.
		if since.IsZero() {
			since = t.Made
		}
		if t.Files > 0 && t.Verifying == nil && Permits(t.State).Recall && since.Before(oldest) && here(t.VID) {
			vid, oldest = t.VID, since
		}
	}
	return vid
}
