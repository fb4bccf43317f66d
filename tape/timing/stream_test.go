package timing

import (
	"math"
	"testing"
	"time"
)

const block = 256 << 10

// pace has a host write or read at a rate for a while, in bytes per second of its own time, and returns the rate that it got.
func pace(s *Stream, now *time.Duration, rate float64, total int64, step func(time.Duration, int64) time.Duration) (got float64) {
	start := *now
	for moved := int64(0); moved < total; moved += block {
		*now += time.Duration(block / rate * 1e9)
		*now += step(*now, block)
	}
	return float64(total) / (*now - start).Seconds()
}

// TestWritingAtAPace: above the slowest step the tape does not stop. Below it the host keeps its pace, and the tape stops once for each
// filling of the buffer, as the arithmetic of a cycle says: B/h to fill it, B/(v-h) to empty it.
func TestWritingAtAPace(t *testing.T) {
	m := media(t, "LTO-9")
	for _, test := range []struct {
		host, want, perTB float64 // MB/s offered, MB/s taken, back-hitches per TB
	}{
		{2000, 400, 0}, {400, 400, 0}, {390, 390, 0}, {300, 300, 0}, {230, 230, 0}, {180, 180, 0},
		{100, 100, 1e6 / (1074 + 100*1074.0/77)}, {50, 50, 1e6 / (1074 + 50*1074.0/127)}, {10, 10, 1e6 / (1074 + 10*1074.0/167)},
	} {
		s, now := NewStream(m), time.Duration(0)
		const total = 60_000 * mb
		got := pace(s, &now, test.host*mb, total, s.Write) / mb
		if math.Abs(got-test.want) > 0.02*test.want {
			t.Errorf("a host of %v MB/s wrote %.1f MB/s", test.host, got)
		}
		c := s.Counts(now)
		if perTB := float64(c.BackHitches) / total * 1e12; math.Abs(perTB-test.perTB) > 0.25*test.perTB {
			t.Errorf("a host of %v MB/s caused %.0f back-hitches a TB, want %.0f", test.host, perTB, test.perTB)
		}
		if sum := c.Moving + c.Stopped + c.Repositioned; sum != now {
			t.Errorf("%v of %v are accounted for", sum, now)
		}
	}
}

// TestReadingAtAPace: as for writing.
func TestReadingAtAPace(t *testing.T) {
	m := media(t, "LTO-9")
	for _, test := range []struct {
		host, want float64
		stops      bool
	}{{2000, 400, false}, {400, 400, false}, {300, 300, false}, {200, 200, false}, {100, 100, true}, {20, 20, true}} {
		s, now := NewStream(m), time.Duration(0)
		left := int64(60_000 * mb)
		got := pace(s, &now, test.host*mb, left, func(now time.Duration, n int64) time.Duration {
			left -= n
			return s.Read(now, n, left+block)
		}) / mb
		if math.Abs(got-test.want) > 0.02*test.want {
			t.Errorf("a host of %v MB/s read %.1f MB/s", test.host, got)
		}
		if c := s.Counts(now); (c.BackHitches > 0) != test.stops {
			t.Errorf("a host of %v MB/s caused %d back-hitches", test.host, c.BackHitches)
		}
	}
}

// TestFlush: it takes as long as the buffer needs, and the next one waits for the back-hitch: files of 1 MB with a flush each go at 1 in 3 s.
func TestFlush(t *testing.T) {
	s, now := NewStream(media(t, "LTO-9")), time.Duration(0)
	if wait := s.Flush(now); wait != 0 {
		t.Error("a flush of nothing took", wait)
	}
	for range 400 { // 105 MB at once
		now += s.Write(now, block)
	}
	if wait := s.Flush(now); math.Abs(wait.Seconds()-400*block/400e6) > 0.01 {
		t.Error("a flush of 105 MB took", wait)
	} else {
		now += wait
	}
	if s.Level(now) != 0 {
		t.Error(s.Level(now))
	}
	start := now
	for range 100 {
		now += s.Write(now, 1*mb)
		now += s.Flush(now)
	}
	if each := (now - start).Seconds() / 100; each < 3 || each > 3.02 {
		t.Errorf("a file of 1 MB with a flush takes %.3f s", each)
	}
	if c := s.Counts(now); c.BackHitches != 101 {
		t.Error(c)
	}
}

// TestReadAheadEnds: a drive that has read everything waits for nothing and stops without a back-hitch.
func TestReadAheadEnds(t *testing.T) {
	s := NewStream(media(t, "LTO-8"))
	now := s.Read(0, block, 99*block)
	now += time.Minute // the rest is in the buffer by now
	for i := range int64(99) {
		if wait := s.Read(now, block, (98-i)*block); wait != 0 {
			t.Fatal(i, wait)
		}
	}
	if c := s.Counts(now); c.BackHitches != 0 {
		t.Error(c)
	}
}

// TestTravel: the buffer is empty afterwards, and a tape that is stopping stops first.
func TestTravel(t *testing.T) {
	s := NewStream(media(t, "LTO-9"))
	now := s.Write(0, block)
	now += s.Flush(now)
	if wait := s.Travel(now, time.Minute); wait != time.Minute+HitchTime {
		t.Error(wait)
	}
	now += time.Minute + HitchTime
	if wait := s.Read(now, block, 0); math.Abs(wait.Seconds()-block/400e6) > 1e-6 {
		t.Error(wait)
	}
}

// FuzzStream: whatever a host does, no wait is negative or longer than emptying the buffer takes, the level stays in the buffer, and all time
// is accounted for.
func FuzzStream(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 4, 200, 100, 50})
	f.Add([]byte("write a lot and read a little"))
	f.Fuzz(func(t *testing.T, ops []byte) {
		m := Medias()[len(ops)%len(Medias())]
		m.Buffer = 64 << 20
		s, now := NewStream(m), time.Duration(0)
		for _, op := range ops {
			now += time.Duration(op>>4) * 37 * time.Millisecond * time.Duration(1+int(op)%7)
			size := int64(op) << 16
			var wait, travel time.Duration
			switch op % 5 {
			case 0, 1:
				wait = s.Write(now, size)
			case 2:
				wait = s.Flush(now)
			case 3:
				s.Flush(now)
				now = max(now, s.now)
				wait = s.Read(now, size, int64(op)<<20)
			case 4:
				travel = time.Duration(op) * time.Second
				wait = s.Travel(now, travel)
			}
			if wait < 0 || wait > travel+HitchTime+seconds(float64(m.Buffer)/float64(m.Speeds[len(m.Speeds)-1])) {
				t.Fatal(op, wait)
			}
			now += wait
			if l := s.Level(now); l < 0 || l > m.Buffer {
				t.Fatal(op, l)
			}
			if c := s.Counts(now); c.Moving < 0 || c.Stopped < 0 || c.Moving+c.Stopped+c.Repositioned != now {
				t.Fatal(op, c, now)
			}
		}
	})
}
