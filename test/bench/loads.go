package bench

import (
	"math/rand/v2"
	"sync"
	"time"

	"hemera/rules/wire"
)

// run is one measurement of one row at one target: what its steps share.
type run struct {
	*target // address, cores and CPU clock of the server
	o       *Options
	row     *row
	clients []*session // one for each connection of the row
	files   []file     // by client, in rows that keep files open
}

// each runs do for every client at once, each on a thread of its own, and returns the first error.
// All begin at once. A client that fails ends; the others go on to their own end.
func (r *run) each(do func(i int, s *session) error) error {
	failed := make([]error, len(r.clients))
	var wg sync.WaitGroup
	for i, s := range r.clients {
		wg.Go(func() {
			// The thread is not given back: it ends with its goroutine.
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
// It counts whole operations; the last ones end a little after the deadline, which the caller's clock includes.
func (r *run) rate(op func(i, n int, s *session) error) (float64, error) {
	// A place for each client: adding to a shared counter would be part of the measurement.
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
// Connections are made before the clock starts, except those to nodes, which the first open makes.
func (r *run) connect() error {
	r.clients = make([]*session, r.row.clients)
	for i := range r.clients {
		r.clients[i] = newSession(r.addr)
		if r.other != nil {
			r.clients[i].not = r.other.addr
		}
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
// Two clients may read the same file.
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
// Offsets are multiples of the size. Requests that came together are answered before new ones are sent, so the depth is a maximum.
func (r *run) random(size, depth int) (float64, error) {
	blocks := r.o.FileBytes / int64(size)
	done := make([]int, len(r.clients))
	deadline := time.Now().Add(r.o.LoadTime)
	err := r.each(func(i int, _ *session) error {
		// The same offsets in each round and at each server.
		f, dice := r.files[i], rand.New(rand.NewPCG(uint64(i), 1))
		flight := 0
		// After the deadline what is in flight still counts.
		for on := true; on || flight > 0; {
			for ; on && flight < depth; flight++ {
				f.queue(wire.Read{Handle: f.handle, Offset: dice.Int64N(blocks) * int64(size), Length: int32(size)}, nil)
			}
			if err := f.flush(); err != nil {
				return err
			}
			// One answer is waited for; more are taken only if they have arrived.
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
