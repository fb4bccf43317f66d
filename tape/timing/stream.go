package timing

import (
	"math"
	"time"
)

// HitchTime is the time in which the tape stops, goes back and is ready for a new start: an estimate. Fermilab observed about 3 s for each
// synchronous filemark of LTO-3 and LTO-4 drives; newer drives are not published.
const HitchTime = 3 * time.Second

// phase is the motion of the tape of a Stream.
type phase uint8

const (
	stopped   phase = iota // stands, ready to start
	moving                 // streams at Stream.speed
	hitching               // stops and goes back, until Stream.ready
	following              // reading only: everything up to the end of data is in the buffer
)

// Counts are the counts of a stream since it was made.
type Counts struct {
	BackHitches int64
	// Moving streams data, Repositioned stops and goes back or travels elsewhere, Stopped is the rest.
	Moving, Stopped, Repositioned time.Duration
}

// Stream is a drive between its host and its tape: a buffer, and a tape that streams at one of some speeds or stands.
//
// A tape that writes drains the buffer. When the buffer is empty, the tape stops with a back-hitch, and starts again when the buffer is full or the host
// waits for a flush. A tape that reads fills the buffer ahead of the host. When the buffer is full, it stops the same way, and starts again
// when the buffer is nearly empty. The drive keeps the level between the marks by its speed, so that only a host below the slowest step makes it stop.
//
// A Stream is not safe for concurrent use. Times must not go back; a time before the last one is taken for the last one.
type Stream struct {
	media   Media
	now     time.Duration
	reading bool
	phase   phase
	ready   time.Duration // end of hitching
	speed   float64       // bytes per second, while moving
	level   float64       // bytes in the buffer
	left    float64       // reading only: bytes ahead of what is in the buffer, up to the end of data
	host    hostRate
	counts  Counts
}

// NewStream returns the stream of a drive whose tape stands and whose buffer is empty.
func NewStream(m Media) *Stream {
	return &Stream{media: m}
}

// Write hands n bytes to the drive at a time, and returns how long the host waits until they are in the buffer.
// What was read ahead is forgotten. n is at most the buffer.
func (s *Stream) Write(now time.Duration, n int64) time.Duration {
	now = s.turn(now, false)
	room := float64(s.media.Buffer) - float64(n)
	if s.level > room { // full: the tape must move, and the host waits until it has made room
		s.run()
		s.speed = max(s.speed, s.pick(s.host.rate, true))
		s.advance(s.now + seconds((s.level-room)/s.speed))
		s.level = min(s.level, max(room, 0)) // what rounding left
	}
	s.level += float64(n)
	s.host.moved(s.now, n)
	s.choose()
	return s.now - now
}

// Flush returns how long the host waits until the buffer is on tape. The tape then stops with a back-hitch, which the host does
// not wait for; the next data does. A flush with nothing in the buffer takes no time.
func (s *Stream) Flush(now time.Duration) time.Duration {
	now = s.turn(now, false)
	if s.level > 0 {
		s.run()
		s.speed = s.speedMax() // nothing more comes: the faster the better
		s.advance(s.now + seconds(s.level/s.speed))
		s.level = 0 // what rounding left
		if s.phase == moving {
			s.stop()
		}
	}
	s.host = hostRate{}
	return s.now - now
}

// Read takes n bytes from the drive at a time, and returns how long the host waits for them. left is how many bytes follow them up to the
// end of data: the drive reads ahead no further. What was not flushed must have been flushed before. n is at most the buffer.
func (s *Stream) Read(now time.Duration, n, left int64) time.Duration {
	now = s.turn(now, true)
	want := float64(n)
	s.left = max(want+float64(left)-s.level, 0)
	if s.phase == following && s.left > 0 {
		s.phase = stopped
	}
	if s.level < want {
		s.run()
		s.speed = max(s.speed, s.pick(s.host.rate, true))
		s.advance(s.now + seconds((want-s.level)/s.speed))
		s.level = max(s.level, want) // what rounding left
	}
	s.level -= want
	s.host.moved(s.now, n)
	s.choose()
	if s.phase == stopped && s.left > 0 && s.level < float64(s.media.Buffer)/8 {
		s.start() // before the host has to wait
	}
	return s.now - now
}

// Travel tells the stream that the tape goes elsewhere for a while, as in a locate or a rewind. The buffer is empty afterwards: what was written
// must have been flushed before. It returns how long the host waits; that is longer than travel when the tape is still stopping.
func (s *Stream) Travel(now, travel time.Duration) time.Duration {
	now = s.turn(now, s.reading)
	if s.phase == hitching {
		s.advance(s.ready)
	}
	s.phase, s.level, s.left, s.host = stopped, 0, 0, hostRate{}
	s.counts.Repositioned += travel
	s.now += travel
	return s.now - now
}

// Level returns how many bytes are in the buffer at a time.
func (s *Stream) Level(now time.Duration) int64 {
	s.advance(now)
	return int64(math.Ceil(s.level))
}

// Counts returns what the stream did until a time.
func (s *Stream) Counts(now time.Duration) Counts {
	s.advance(now)
	return s.counts
}

// turn brings the stream to a time and a direction.
func (s *Stream) turn(now time.Duration, reading bool) time.Duration {
	now = max(now, s.now)
	s.advance(now)
	if s.reading != reading {
		if s.phase == moving {
			s.stop()
		}
		if s.phase == following {
			s.phase = stopped
		}
		s.reading, s.level, s.left, s.host = reading, 0, 0, hostRate{}
	}
	return now
}
