package bench

import (
	"math/rand/v2"
	"sync"
	"time"

	"hemera/rules/wire"
)

// run is one measurement of one row at one target: what its steps share.
type run struct {
	*target
	o       *Options
	row     *row
	clients []*session
	files   []file
}

// each runs do for every client at once, each on a thread of its own, and returns the first error.
func (r *run) each(do func(i int, s *session) error) error {
	failed := make([]error, len(r.clients))
	var wg sync.WaitGroup
	for i, s := range r.clients {
		wg.Go(func() {
			r.cores.hold()
			failed[i] = do(i, s)
		})
	}
	wg.Wait()
	for _, err := range failed {
		if err != nil {
			return err
		}
	}
	return nil
}

// rate runs op over and over for the time of a load and returns how much was done.
func (r *run) rate(op func(i, n int, s *session) error) (float64, error) {
	done := make([]int, len(r.clients))
	deadline := time.Now().Add(r.o.LoadTime)
	err := r.each(func(i int, s *session) error {
		for n := 0; time.Now().Before(deadline); n++ {
			if err := op(i, n, s); err != nil {
				return err
			}
			done[i]++
		}
		return nil
	})
	total := 0
	for _, n := range done {
		total += n
	}
	return float64(total), err
}

// connect makes the clients and logs them in.
func (r *run) connect() error {
	r.clients = make([]*session, r.row.clients)
	for i := range r.clients {
		r.clients[i] = newSession(r.addr)
	}
	return r.each(func(_ int, s *session) error {
		_, err := s.at(s.home)
		return err
	})
}

// disconnect closes the sessions of all threads.
func (r *run) disconnect() {
	for _, s := range r.clients {
		s.close()
	}
}

// openBig opens the prepared file for every client.
func (r *run) openBig() error {
	r.files = make([]file, len(r.clients))
	return r.each(func(i int, s *session) (err error) {
		r.files[i], err = s.open(bigFile(i), wire.OpenRead)
		return err
	})
}

// closeBig closes the large file of each thread.
func (r *run) closeBig() error {
	return r.each(func(i int, _ *session) error { return r.files[i].close() })
}

// random reads blocks at random offsets, depth of them in flight on each connection.
func (r *run) random(size, depth int) (float64, error) {
	blocks := r.o.FileBytes / int64(size)
	done := make([]int, len(r.clients))
	deadline := time.Now().Add(r.o.LoadTime)
	err := r.each(func(i int, _ *session) error {
		f, dice := r.files[i], rand.New(rand.NewPCG(uint64(i), 1))
		flight := 0
		for on := true; on || flight > 0; {
			for ; on && flight < depth; flight++ {
				f.queue(wire.Read{Handle: f.handle, Offset: dice.Int64N(blocks) * int64(size), Length: int32(size)}, nil)
			}
			if err := f.flush(); err != nil {
				return err
			}
			for first := true; flight > 0 && (first || len(f.r) >= wire.ResponseHeaderSize); first = false {
				if _, err := f.data(); err != nil {
					return err
				}
				flight--
				done[i]++
			}
			on = time.Now().Before(deadline)
		}
		return nil
	})
	total := 0
	for _, n := range done {
		total += n
	}
	return float64(total), err
}
