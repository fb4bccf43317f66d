package mounting

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"
	"time"

	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// site is tapes, drives and queues over time. Drives ask in any order, work at a byte a second, and ask again.
type site struct {
	r    *rand.Rand
	p    Picture
	want map[Key]*Queue
	seen map[Rule]int // how often a rule decided
	// fails: drives and tapes fail and come back. A pool then opens another tape, and has too many partly full ones when the first is back.
	fails bool
}

// newSite makes one that can serve every queue: each library has a drive for each medium, each organisation a drive for each direction.
func newSite(seed uint64) *site {
	r := rand.New(rand.NewPCG(seed, 3))
	s := &site{r: r, want: map[Key]*Queue{}, seen: map[Rule]int{}, fails: seed%2 == 1}
	s.p = Picture{
		Now: now(), Libraries: map[string]string{}, Pools: map[tapeapi.PoolName]Pool{"p1": {Partial: 1 + r.Int64N(3), Supplies: []tapeapi.PoolName{"s1"}}, "p2": {Partial: 1}},
		Organisations: map[string]Organisation{"o1": {1 + r.Int64N(3), 1 + r.Int64N(3)}, "o2": {1, 1}},
		Criteria:      Criteria{MinBytes: 500, MinFiles: 8, Linger: time.Minute, Turn: 3 * time.Minute},
		Buffer:        Buffer{Free: 2000, Keep: 100, Batch: 300}, Rates: DefaultRates(),
	}
	libraries := 1 + r.IntN(2)
	for i := range libraries * 2 {
		d := Drive{Name: "d" + strconv.Itoa(i), Library: "l" + strconv.Itoa(i%libraries), Up: true, Idle: now()}
		if i >= libraries && r.IntN(2) == 0 {
			d.Writes, d.Reads = []string{"m2"}, []string{"m1"}
		}
		s.p.Drives = append(s.p.Drives, d)
	}
	for i := range 12 {
		pool := []string{"p1", "p2", "s1"}[i%3]
		s.p.Tapes = append(s.p.Tapes, Tape{
			VID: hemera.VID("V" + strconv.Itoa(i)), Pool: tapeapi.PoolName(pool), Library: "l" + strconv.Itoa(i/3%libraries), Media: []string{"m1", "m2"}[i/6], Read: true, Write: true, Capacity: 20_000,
		})
	}
	return s
}

// ask adds a request to a queue.
func (s *site) ask() {
	k := archive(tapeapi.PoolName([]string{"p1", "p2"}[s.r.IntN(2)]))
	vid := s.p.Tapes[s.r.IntN(len(s.p.Tapes))].VID
	switch s.r.IntN(6) {
	case 0, 1, 2:
		k = recall(vid)
	case 3:
		k = Key{Kind: tapeapi.Verify, VID: vid}
	}
	q := s.want[k]
	if q == nil {
		q = &Queue{Key: k, Organisation: "o1", MinAge: 5 * time.Minute, Priority: s.r.Int64N(2)}
		if k.Pool == "p2" {
			q.Organisation = "o2"
		}
		s.want[k] = q
	}
	if q.Files == 0 {
		q.Oldest = s.p.Now
	}
	q.Files++
	q.Bytes += 1 + s.r.Int64N(100)
}

// fail takes drives out of service for a while, or an idle tape out of use.
func (s *site) fail() {
	if !s.fails {
		return
	}
	for i := range s.p.Drives {
		if s.r.IntN(60) == 0 {
			s.p.Drives[i].Up = !s.p.Drives[i].Up
		}
	}
	if t := &s.p.Tapes[s.r.IntN(len(s.p.Tapes))]; s.r.IntN(20) == 0 {
		t.Read = !t.Read
		t.Write = t.Read
	}
}

// repair puts everything into service.
func (s *site) repair() {
	for i := range s.p.Drives {
		s.p.Drives[i].Up = true
	}
	for i := range s.p.Tapes {
		s.p.Tapes[i].Read, s.p.Tapes[i].Write = true, true
	}
}

// picture returns the picture that a manager would have now.
func (s *site) picture() Picture {
	p := s.p
	p.Queues = nil
	for _, q := range s.want {
		p.Queues = append(p.Queues, *q)
	}
	return p
}

// work moves each drive a step on.
func (s *site) work(step time.Duration) {
	for i := range s.p.Drives {
		d := &s.p.Drives[i]
		if d.Work == nil {
			continue
		}
		q := s.want[d.Work.Queue]
		more, rule, _ := New(s.picture()).Continue(d.Name)
		if !more {
			s.seen[rule]++
		}
		if !more || q.Files == 0 {
			d.Work, d.Idle = nil, s.p.Now
			continue
		}
		bytes := min(q.Bytes, int64(step/time.Second))
		files := max(1, q.Files*bytes/max(1, q.Bytes))
		q.Bytes, q.Files = q.Bytes-bytes, q.Files-files
		if q.Files == 0 {
			q.Bytes = 0
		}
		// What is left is younger: jobs go in order.
		if q.Oldest = q.Oldest.Add(step); q.Oldest.After(s.p.Now) {
			q.Oldest = s.p.Now
		}
		if t := s.p.tape(d.VID); q.Writes() {
			t.Used += bytes
			t.Full = t.Used >= t.Capacity
		}
	}
}

// decide has the idle drives ask, in any order, each in a picture of its own.
func (s *site) decide(t *testing.T) {
	for _, i := range s.r.Perm(len(s.p.Drives)) {
		p := s.picture()
		got := Decide(p, p.Drives[i].Name)
		if s.p.Drives[i].Work != nil {
			continue
		}
		s.seen[got.Rule]++
		p.begin(i, got)
		s.p.Drives, s.p.Tapes = p.Drives, p.Tapes
		s.check(t)
	}
}

// check holds the invariants of the package's documentation.
func (s *site) check(t *testing.T) {
	t.Helper()
	in := map[hemera.VID]string{}
	counts := map[string]int64{}
	reserved := int64(0)
	for _, d := range s.p.Drives {
		if other := in[d.VID]; d.VID != "" && other != "" {
			t.Fatalf("tape %s is in drives %s and %s", d.VID, other, d.Name)
		}
		in[d.VID] = d.Name
		if d.Work == nil {
			continue
		}
		counts[fmt.Sprint(d.Work.Organisation, d.Work.Queue.Writes())]++
		reserved += d.Work.Reserved
		tape := s.p.tape(d.VID)
		if tape.Library != d.Library || !takes(&d, tape.Media, d.Work.Queue.Writes()) || d.Work.Queue.Writes() && tape.Pool != d.Work.Queue.Pool {
			t.Fatalf("drive %+v holds tape %+v", d, tape)
		}
	}
	for name, o := range s.p.Organisations {
		if counts[fmt.Sprint(name, true)] > o.WriteDrives || counts[fmt.Sprint(name, false)] > o.ReadDrives {
			t.Fatalf("organisation %s has %v drives, and %+v at most", name, counts, o)
		}
	}
	if reserved > s.p.Buffer.Free-s.p.Buffer.Keep {
		t.Fatalf("%d bytes are reserved of %d", reserved, s.p.Buffer.Free-s.p.Buffer.Keep)
	}
	partial := map[string]int64{}
	for _, tape := range s.p.Tapes {
		if tape.Used > 0 && !tape.Full && !s.fails {
			partial[string(tape.Pool)+tape.Library]++
			if partial[string(tape.Pool)+tape.Library] > max(1, s.p.Pools[tape.Pool].Partial) {
				t.Fatalf("pool %s has more than %d partly full tapes in library %s", tape.Pool, s.p.Pools[tape.Pool].Partial, tape.Library)
			}
		}
	}
}

// queued returns the number of waiting files.
func (s *site) queued() (n int64) {
	for _, q := range s.want {
		n += q.Files
	}
	return n
}

// Over time, with drives and tapes that fail and come back, no limit is exceeded, no drive is idle while it could serve a queue, and all that was asked for is done.
func TestNothingWaitsForEver(t *testing.T) {
	seeds := uint64(60)
	if testing.Short() {
		seeds = 6
	}
	seen := map[Rule]int{}
	const step = 10 * time.Second
	for seed := range seeds {
		s := newSite(seed)
		run := func(steps int, asks func()) {
			for range steps {
				if asks(); s.queued() == 0 {
					continue
				}
				s.work(step)
				s.decide(t)
				s.idle(t, seed)
				s.p.Now = s.p.Now.Add(step)
			}
		}
		run(200, func() {
			for range s.r.IntN(4) {
				s.ask()
			}
			s.fail()
		})
		s.repair()
		// Each of some 35 queues has its age and a turn of its own, with mounts in no time, and what lingers in between.
		run(2000, func() {})
		if n := s.queued(); n > 0 {
			left := s.picture()
			left.Queues = slices.DeleteFunc(left.Queues, func(q Queue) bool { return q.Files == 0 })
			t.Fatalf("seed %d: %d files wait for ever: %+v, %+v", seed, n, left.Queues, New(left).Explain(left.Queues[0].Key))
		}
		for rule, n := range s.seen {
			seen[rule] += n
		}
	}
	for _, rule := range []Rule{TurnOver, Mounted, EnoughBytes, EnoughFiles, OldEnough, Lingering, LingerOver, DriveLimit, TapeInUse, PartialTapes, DriveDown, TapeState} {
		if seen[rule] == 0 && !testing.Short() {
			t.Errorf("rule %q never decided", rule)
		}
	}
}

// idle fails if a drive without a tape is idle while the twin finds work for it.
func (s *site) idle(t *testing.T, seed uint64) {
	t.Helper()
	p := s.picture()
	for _, d := range p.Drives {
		if d.Up && d.Work == nil && d.VID == "" {
			if found := (twin{p}).options(d); len(found) > 0 && Decide(p, d.Name).Do != tapeapi.MountWork {
				t.Fatalf("seed %d: drive %s is idle, and could do %+v", seed, d.Name, found[0])
			}
		}
	}
}

// large returns a site of 100 drives, 10,000 queues and 50,000 tapes.
func large() Picture {
	p := base()
	p.Drives, p.Tapes = nil, nil
	for i := range 100 {
		d := idle("d" + strconv.Itoa(i))
		d.Library = "l" + strconv.Itoa(i%4)
		p.Drives = append(p.Drives, d)
	}
	for i := range 50_000 {
		t := tapeOf(hemera.VID(fmt.Sprintf("V%05d", i)), 18e12)
		t.Library, t.Pool, t.Full = "l"+strconv.Itoa(i%4), tapeapi.PoolName("p"+strconv.Itoa(i%200)), i%50 > 0
		p.Tapes = append(p.Tapes, t)
	}
	for i := range 10_000 {
		k := recall(hemera.VID(fmt.Sprintf("V%05d", i)))
		if i < 200 {
			k = archive(tapeapi.PoolName("p" + strconv.Itoa(i)))
		}
		p.Queues = append(p.Queues, waiting(k, old(time.Duration(i%3600)*time.Second)))
	}
	return p
}

// BenchmarkDecide measures one decision with a new picture.
func BenchmarkDecide(b *testing.B) {
	p := large()
	for b.Loop() {
		if d := Decide(p, "d7"); d.Do != tapeapi.MountWork {
			b.Fatal(d)
		}
	}
}

// BenchmarkAllDrives measures a decision for each of 100 drives on one board.
func BenchmarkAllDrives(b *testing.B) {
	p := large()
	p.Organisations["org"] = Organisation{ReadDrives: 100, WriteDrives: 100}
	for b.Loop() {
		board := New(p)
		for _, d := range p.Drives {
			board.Begin(d.Name, board.Decide(d.Name))
		}
	}
}

// BenchmarkIdle measures the worst case: 10,000 queues wait and none can be served, so each is looked at.
func BenchmarkIdle(b *testing.B) {
	p := large()
	p.Organisations["org"] = Organisation{}
	board := New(p)
	for b.Loop() {
		if d := board.Decide("d7"); d.Do != tapeapi.MountNothing {
			b.Fatal(d)
		}
	}
}

// BenchmarkExplain measures the reasons and the forecast for the last of 10,000 queues.
func BenchmarkExplain(b *testing.B) {
	board := New(large())
	for b.Loop() {
		if x := board.Explain(recall("V09999")); x.Begins.IsZero() {
			b.Fatal(x)
		}
	}
}
