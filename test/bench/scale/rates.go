package scale

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"hemera/words/hemera"
)

// latenciesMax bounds the latencies that one client remembers.
// More would add to the memory that is measured.
const latenciesMax = 100_000

// rate has clients do something for a while. n counts a client's calls.
// Errors count as calls, and are reported beside the rate. CPU is that of the whole process for one call.
func (c *child) rate(clients int, length time.Duration, do func(client, n int) error) Rate {
	var mu sync.Mutex
	var all []time.Duration
	var count, failed int64
	var wg sync.WaitGroup
	started, cpu := time.Now(), processCPU()
	for client := range clients {
		wg.Go(func() {
			var took []time.Duration
			var errs int64
			n := 0
			// One clock reading for each call: the end of one is the beginning of the next.
			for last := started; last.Sub(started) < length; n++ {
				if err := do(client, n); err != nil {
					if err == errEnd {
						break
					}
					errs++
				}
				now := time.Now()
				if len(took) < latenciesMax {
					took = append(took, now.Sub(last))
				}
				last = now
			}
			// Each client gathers for itself and adds once, at its end.
			mu.Lock()
			defer mu.Unlock()
			all, count, failed = append(all, took...), count+int64(n), failed+errs
		})
	}
	wg.Wait()
	r := Rate{PerSecond: float64(count) / time.Since(started).Seconds(), CPU: (processCPU() - cpu) / time.Duration(max(count, 1)), Failed: failed}
	// Clients with more calls than are remembered count with their first ones.
	if slices.Sort(all); len(all) > 0 {
		r.P50, r.P99 = all[len(all)/2], all[len(all)*99/100]
	}
	return r
}

// errEnd ends a client before its time.
var errEnd = fmt.Errorf("there is nothing left to do")

// made returns the name of a client's n-th new file, in a directory of its own of the last tree.
func (c *child) made(prefix string, client, n int) string {
	last := c.Trees[len(c.Trees)-1].Path
	return fmt.Sprintf("%s/%s-%d/file%06d", last, prefix, client, n)
}

// creator makes files of two pieces.
// Nothing is written to a disk: the commit names the pieces as a node would that has sealed them.
func (c *child) creator(prefix string) func(client, n int) error {
	return func(client, n int) error {
		g, err := c.m.Files.Open(c.ctx, boss(), hemera.OpenRequest{Path: c.made(prefix, client, n), Access: hemera.AccessCreate, Parents: true, Mode: 0o644, Size: 1000})
		if err != nil {
			return err
		}
		// The checksum is made up and differs from file to file, as real ones do.
		sum, _ := hemera.MakeChecksum(hemera.Adler32, []byte{0, 0, 0, byte(n)})
		request := hemera.CommitRequest{Permit: g.Permit, Size: 1000, Checksums: []hemera.Checksum{sum}, Mtime: time.Now()}
		for _, t := range g.Permit.Targets {
			request.Pieces = append(request.Pieces, hemera.Piece{Index: t.Index, Disk: t.Disk})
		}
		_, err = c.m.Control.Commit(c.ctx, request)
		return err
	}
}

// remover removes what creator made, until it comes to the end.
// The first name that is not there ends the client.
func (c *child) remover(prefix string) func(client, n int) error {
	return func(client, n int) error {
		err := c.m.Names.Remove(c.ctx, boss(), c.made(prefix, client, n), hemera.KindFile)
		if err != nil {
			return errEnd
		}
		return nil
	}
}
