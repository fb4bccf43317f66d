package timing

import (
	"math"
	"time"
)

// advance lets time pass without the host.
func (s *Stream) advance(to time.Duration) {
	for s.now < to {
		switch s.phase {
		case stopped, following:
			s.counts.Stopped += to - s.now
			s.now = to
		case hitching:
			end := min(s.ready, to)
			s.counts.Repositioned += end - s.now
			s.now = end
			if end == s.ready {
				s.phase = stopped
				s.restart()
			}
		case moving:
			s.move(to)
		}
	}
}

// move lets the tape stream until a time, or until the buffer makes it stop.
func (s *Stream) move(to time.Duration) {
	bytes := s.speed * (to - s.now).Seconds()
	room := s.level // that the tape may move before it stops
	if s.reading {
		room = min(float64(s.media.Buffer)-s.level, s.left)
	}
	end := to
	if bytes >= room {
		bytes = room
		end = min(to, s.now+seconds(room/s.speed))
	}
	s.counts.Moving += end - s.now
	s.now = end
	if s.reading {
		s.level += bytes
		s.left -= bytes
	} else {
		s.level -= bytes
	}
	switch {
	case bytes < room:
	case s.reading && s.left <= 0:
		s.phase = following // there is nothing to start again for, so nothing to go back for
	default:
		s.stop()
	}
}

// stop begins a back-hitch.
func (s *Stream) stop() {
	s.phase = hitching
	s.ready = s.now + HitchTime
	s.counts.BackHitches++
}

// start has the tape move, or, while it goes back, as soon as it is ready.
func (s *Stream) start() {
	if s.phase == stopped || s.phase == following {
		s.phase = moving
		s.speed = s.pick(s.host.rate, !s.reading)
	}
}

// restart starts a tape that has gone back, if the buffer asks for it.
func (s *Stream) restart() {
	if s.reading && s.left > 0 && s.level < float64(s.media.Buffer)/8 {
		s.start()
	}
}

// run has the tape stream now. While it goes back, time passes until it is ready.
func (s *Stream) run() {
	if s.phase == hitching {
		s.advance(s.ready)
	}
	s.start()
}

// choose picks the speed from the level of the buffer and the pace of the host, and starts a tape whose buffer is full.
func (s *Stream) choose() {
	full := s.level / float64(s.media.Buffer)
	if s.reading {
		full = 1 - full // room, seen from the tape: what it has to do
	}
	switch {
	case s.phase == stopped && !s.reading && full > 15.0/16:
		s.start()
	case s.phase != moving:
	case full > 3.0/4:
		s.speed = s.pick(s.host.rate, true)
	case full < 1.0/4:
		s.speed = s.pick(s.host.rate, false)
	}
}

// pick returns the slowest step that is faster than a rate, or the fastest one that is not. Where there is none, it is the end of the list.
func (s *Stream) pick(rate float64, faster bool) float64 {
	picked := s.speedMax()
	if rate == 0 { // not known yet
		return picked
	}
	for _, step := range s.media.Speeds {
		v := float64(step)
		if v <= rate {
			if !faster {
				picked = v
			}
			break
		}
		picked = v
	}
	return picked
}

// speedMax returns the fastest step.
func (s *Stream) speedMax() float64 { return float64(s.media.Speeds[0]) }

// hostRate is the pace of the host, measured over windows of at least half a second.
type hostRate struct {
	since time.Duration // begin of the window
	bytes float64       // in the window
	rate  float64       // of the last full window, 0 before
	open  bool          // a window has begun
}

// moved counts n bytes.
func (h *hostRate) moved(now time.Duration, n int64) {
	if !h.open {
		h.open, h.since = true, now
		return // the first block opens the window; its own time is not known
	}
	h.bytes += float64(n)
	if passed := now - h.since; passed >= 500*time.Millisecond {
		h.rate = math.Max(h.bytes/passed.Seconds(), 1)
		h.since, h.bytes = now, 0
	}
}
