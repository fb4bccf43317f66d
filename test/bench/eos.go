package bench

import (
	"fmt"

	"hemera/rules/wire"
)

// transfer is the unit in which the rows beside EOS read and write, in bytes.
const transfer = 4 << 20

// eosRates returns the rates of EOS 5.2.32 with QuarkDB 0.4.3 (one node, Raft), two storage servers, two replicas with
// adler32, servers and clients sharing two cores, loopback and page cache; operations/s, or MiB/s, with 1, 4 and 16
// clients of one operation in flight each. EOS acknowledges changes of the namespace before any fsync; Hemera after it.
// Zero stands for a row that was not measured.
func eosRates() map[string][3]float64 {
	return map[string][3]float64{
		"mkdir":        {2062, 2653, 2277},
		"create+close": {421, 634, 645},
		"stat":         {7520, 14912, 16258},
		"readdir":      {23023, 33132, 34078},
		"unlink":       {1549, 1797, 1980},
		"rmdir":        {3214, 3689, 3359},
		"write":        {287, 424, 0},
		"read":         {1141, 2221, 0},
	}
}

// eosRows returns the rows that are measured at a durable cluster with two replicas. Files that are written have a
// quarter of the length of those that are read.
func eosRows() []row {
	var rows []row
	for k, n := range widths {
		own := (*run).ownDirs
		// The names are those of the table above.
		for _, w := range []row{
			{name: "mkdir", prepare: steps{own}, run: timed(mkdir), clean: steps{prepared(rmdir)}},
			{name: "create+close", prepare: steps{own}, run: timed(create), clean: steps{prepared(remove)}},
			{name: "stat", run: stat},
			{name: "readdir", run: readdir},
			{name: "unlink", prepare: steps{own, prepared(create)}, run: timed(remove)},
			{name: "rmdir", prepare: steps{own, prepared(mkdir)}, run: timed(rmdir)},
			{name: "write", bulk: true, part: 4, run: func(r *run) (float64, error) { return r.bulkWrite(false, transfer, 1) }, clean: steps{(*run).removeNew}},
			{name: "read", bulk: true, prepare: steps{(*run).openBig}, run: (*run).readTransfers, clean: steps{(*run).closeBig}},
		} {
			// Without a figure there is nothing to compare.
			if w.eos = eosRates()[w.name][k]; w.eos == 0 {
				continue
			}
			w.clients = n
			rows = append(rows, w)
		}
	}
	return rows
}

// readTransfers reads the prepared files, one transfer in flight.
// One in flight, as in the measurement of EOS: the rate is bound by latency.
func (r *run) readTransfers() (float64, error) {
	err := r.each(func(i int, _ *session) error {
		f := r.files[i]
		for off := int64(0); off < r.o.FileBytes; off += transfer {
			f.queue(wire.Read{Handle: f.handle, Offset: off, Length: transfer}, nil)
			if err := f.flush(); err != nil {
				return err
			}
			// A read that returns nothing would loop through the file without work.
			if n, err := f.data(); err != nil || n == 0 {
				return fmt.Errorf("read of %d bytes: %w", n, err)
			}
		}
		return nil
	})
	return float64(r.o.FileBytes) * float64(len(r.clients)), err
}
