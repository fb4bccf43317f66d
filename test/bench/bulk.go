package bench

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"

	"hemera/rules/wire"
)

const (
	bulkStep   = 8 << 20 // of one request, as the stock client's
	bulkFlight = 4       // requests in flight
)

// bulkRead reads every client's file from its start to its end.
// Several requests are in flight, as a client that reads ahead has them, so that the server never waits for the next.
// It returns the bytes of all clients.
func (r *run) bulkRead(pages bool) (float64, error) {
	size := r.row.bytes(r.o)
	err := r.each(func(i int, _ *session) error {
		f, flight, got := r.files[i], 0, int64(0)
		for off := int64(0); off < size || flight > 0; {
			// Fill up, then take one answer: a request is sent for each answer that came.
			for ; flight < bulkFlight && off < size; flight++ {
				n := min(bulkStep, size-off)
				if pages {
					f.queue(wire.Pgread{Handle: f.handle, Offset: off, Length: int32(n)}, nil)
				} else {
					f.queue(wire.Read{Handle: f.handle, Offset: off, Length: int32(n)}, nil)
				}
				off += n
			}
			if err := f.flush(); err != nil {
				return err
			}
			n, err := f.data()
			if err != nil {
				return err
			}
			got, flight = got+int64(n), flight-1
		}
		// A short file would look like a fast one.
		if got < size {
			return fmt.Errorf("read %d of %d bytes", got, size)
		}
		return nil
	})
	return float64(size) * float64(len(r.clients)), err
}

// bulkWrite writes a new file for every client, and closes it.
// flights is the number of writes whose answers are outstanding. With 1 each write waits for its answer.
func (r *run) bulkWrite(pages bool, step, flights int) (float64, error) {
	size := r.row.bytes(r.o)
	// All clients send the same bytes: their content costs nothing during the measurement.
	data := pattern(step)
	var framed []byte
	if pages {
		sums := make([]uint32, wire.Fragments(0, int64(step)))
		// A write of pages carries a CRC32C in front of each page; they are made once, before the clock starts.
		framed = wire.AppendPages(nil, data, wire.SumPages(sums, data, 0), 0)
	}
	err := r.each(func(i int, s *session) error {
		f, err := s.open(r.newFile(i), wire.OpenDelete|wire.OpenUpdate|wire.OpenMkpath)
		if err != nil {
			return err
		}
		flight := 0
		for off := int64(0); off < size; off += int64(step) {
			n := min(int64(step), size-off)
			payload := data[:n]
			var q wire.Request = wire.Write{Handle: f.handle, Offset: off}
			if pages {
				// Steps are multiples of the page size, so the framed bytes fit every offset.
				payload, q = framed[:wire.PagesLen(0, n)], wire.Pgwrite{Handle: f.handle, Offset: off}
			}
			// The header only: the payload follows from its own buffer, without a copy.
			f.out = wire.AppendRequest(f.out, wire.StreamID{0, 1}, q, len(payload))
			if err := f.flush(); err != nil {
				return err
			}
			if err := f.write(payload); err != nil {
				return err
			}
			if flight++; flight == flights {
				if _, err := f.ok(); err != nil {
					return err
				}
				flight--
			}
		}
		// A close counts: the server has all bytes when it answers.
		for ; flight > 0; flight-- {
			if _, err := f.ok(); err != nil {
				return err
			}
		}
		return f.close()
	})
	return float64(size) * float64(len(r.clients)), err
}

// newFile returns the name of a file that does not exist yet.
// Clients never share a file, because a write is exclusive.
func (r *run) newFile(i int) string { return fmt.Sprintf("/bench/new/%d", i) }

// removeNew removes what a write made.
func (r *run) removeNew() error {
	return r.each(func(i int, s *session) error { return s.do(wire.Rm{}, r.newFile(i)) })
}

// xrdcp runs a stock client for every stream at once, reading or writing.
// Its time includes starting the program and logging in, as users have it.
func (r *run) xrdcp(write, pages bool) (float64, error) {
	failed := make([]error, r.row.clients)
	var wg sync.WaitGroup
	for i := range failed {
		from, to := r.url(bigFile(i)), "/dev/null"
		// The name of the source does not matter to the server; it is read from memory.
		if write {
			from, to = r.o.source(r.row.bytes(r.o)), r.url(r.newFile(i))
		}
		wg.Go(func() {
			// -f replaces the target, -s and --nopbar keep it quiet.
			argv := r.cores.command("xrdcp", "-f", "-s", "--nopbar", from, to)
			cmd := exec.Command(argv[0], argv[1:]...)
			cmd.Env = append(os.Environ(), "XRD_CONNECTIONWINDOW=5") // seconds for a connection, so that a dead server ends the row soon
			if !pages {
				cmd.Env = append(cmd.Env, "XRD_CPUSEPGWRTRD=0") // no pgread and pgwrite
			}
			if out, err := cmd.CombinedOutput(); err != nil {
				failed[i] = fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, out)
			}
		})
	}
	wg.Wait()
	for _, err := range failed {
		if err != nil {
			return 0, err
		}
	}
	return float64(r.row.bytes(r.o)) * float64(r.row.clients), nil
}

// pattern returns bytes that no page shares with another. It is a xorshift generator: fast, the same in each run, and
// nothing a filesystem could compress or share.
func pattern(n int) []byte {
	b := make([]byte, n)
	x := uint64(88172645463325252) // the seed of Marsaglia's paper; any but zero would do
	for i := range b {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
		b[i] = byte(x)
	}
	return b
}
