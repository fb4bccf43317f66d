package session

import (
	"context"

	"hemera/words/tapeapi"
)

// packMin is the least number of small files that follow each other and become a container. Fewer are not worth a table of 256 KiB.
const packMin = 8

// packMax bounds the members of a container.
const packMax = 1000

// place says where a member is in the buffers of its unit.
type place struct{ slab, offset int }

// pack says how many jobs from the first on become one container, where they are in buffers of so many bytes, and how many buffers that
// takes. It is 1 without places when the first job is a tape file of its own.
func pack(jobs []tapeapi.Work, l Limits) (n int, places []place, slabs int) {
	slab, offset, total := 0, 0, int64(0)
	for _, j := range jobs {
		if j.Size <= 0 || j.Size > l.PackBelow || total+j.Size > l.PackBytes || n == packMax {
			break
		}
		// A member is never cut, so that it is read with one request.
		if offset+int(j.Size) > l.Chunk {
			slab, offset = slab+1, 0
		}
		places = append(places, place{slab: slab, offset: offset})
		offset, total, n = offset+int(j.Size), total+j.Size, n+1
	}
	// A container must be in memory as a whole: its table comes first and lists only members that could be read.
	if n < packMin || slab >= l.Buffers {
		return 1, nil, 0
	}
	return n, places, slab + 1
}

// planner makes units of jobs.
type planner struct {
	o     ArchiveOptions
	f     *figures
	pool  *pool      // of the session
	units chan *unit // in the order of their jobs
	err   error      // why it stopped; read it when units is closed
}

// run takes jobs until there are none and sends units in their order. It waits for the buffers of each unit before it starts it, and since it
// is the only one that takes buffers, a unit that was started never lacks any.
func (p *planner) run(ctx context.Context) {
	defer close(p.units)
	p.err = p.o.Panics.Do("session.Archive", "tape "+p.o.Volume.VID(), func() error { return p.plan(ctx) })
}

// plan takes jobs and starts their units.
func (p *planner) plan(ctx context.Context) error {
	for {
		jobs, last, err := p.o.Jobs.Next(ctx, p.o.Limits.BatchFiles, p.o.Limits.BatchBytes)
		// None means that nothing is left for this mount.
		if err != nil || len(jobs) == 0 {
			return err
		}
		for len(jobs) > 0 {
			// Containers do not span batches; a batch is large enough that this does not matter.
			n, places, slabs := pack(jobs, p.o.Limits)
			if err := p.start(ctx, jobs[:n], places, slabs); err != nil {
				return err
			}
			jobs = jobs[n:]
		}
		if last {
			return nil
		}
	}
}

// start acquires the buffers of a unit, starts to load it, and sends it.
func (p *planner) start(ctx context.Context, jobs []tapeapi.Work, places []place, buffers int) error {
	size := int64(p.o.Limits.Chunk)
	if places == nil {
		// A small file needs no full window, so more of them are read at a time.
		buffers = int(min(int64(p.o.Limits.Window), max(1, (jobs[0].Size+size-1)/size)))
	}
	u := &unit{jobs: jobs, free: make(chan []byte, buffers), panics: p.o.Panics, buffered: &p.f.buffered}
	for range buffers {
		b, err := p.pool.get(ctx)
		if err != nil {
			// The session ends. What was taken is given back, so that every buffer is where it belongs.
			for range len(u.free) {
				p.pool.put(<-u.free)
			}
			return err
		}
		u.free <- b
	}
	// Each unit can be cancelled alone, when its file fails or the tape is full.
	ctx, u.cancel = context.WithCancel(ctx)
	if places == nil {
		u.chunks = make(chan chunk, buffers)
		go u.load(ctx, p.o.Source)
	} else {
		u.ready = make(chan struct{})
		go u.loadMembers(ctx, p.o.Source, places)
	}
	// There is room for as many units as there are buffers, and each has one at least.
	p.units <- u
	return nil
}
