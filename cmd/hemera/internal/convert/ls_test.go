package convert

import (
	"testing"
	"time"

	"hemera"
)

// What failed or was in use is neither done nor gone: it will be tried again. A request that has ended leaves nothing.
func TestWhatIsTriedAgainIsLeft(t *testing.T) {
	s := hemera.ConversionStatus{Conversion: hemera.Conversion{Seen: 6, Skipped: 1, Failed: 2}, Job: hemera.JobStatus{FilesLeft: 4}}
	if p, n := progress(s), s.Job.FilesLeft+again(s); p != 30 || n != 7 {
		t.Errorf("%g %% done, %d left", p, n)
	}
	s.Ended = time.Unix(1, 0)
	if p, n := progress(s), again(s); p != 100 || n != 0 {
		t.Errorf("after the end: %g %% done, %d tried again", p, n)
	}
}
