package session

import (
	"time"

	"hemera/words/tapeapi"
)

// courseEvery is the time between the first samples.
const courseEvery = 200 * time.Millisecond

// CourseMax bounds the samples of a session, however long it was.
const CourseMax = 200

// course is the samples of a session. Their number is bounded: when there are too many, every second one is removed, and those that follow come
// half as often. So they are evenly spread over a session of any length.
type course struct {
	samples []tapeapi.Sample
	every   time.Duration // between samples
	bytes   int64         // that the drive took or gave so far
	hitches int64         // that the drive counted when it was asked last
	asked   time.Duration // when that was
}

// due reports whether a sample is to be taken now.
func (c *course) due(at time.Duration) bool {
	if len(c.samples) == 0 {
		return true
	}
	return at-c.samples[len(c.samples)-1].At >= max(c.every, courseEvery)
}

// add appends a sample.
func (c *course) add(s tapeapi.Sample) {
	if len(c.samples) >= CourseMax {
		kept := c.samples[:0]
		for i := 0; i < len(c.samples); i += 2 {
			kept = append(kept, c.samples[i])
		}
		c.samples, c.every = kept, 2*max(c.every, courseEvery)
	}
	c.samples = append(c.samples, s)
}
