package bench

import (
	"fmt"

	"hemera/rules/wire"
)

// row is one canonical load.
type row struct {
	name    string                      // as tables name it
	clients int                         // connections
	bulk    bool                        // counts bytes; operations otherwise
	part    int64                       // the files are shorter by this factor; 0 is 1
	prepare []func(*run) error          // not timed
	run     func(*run) (float64, error) // timed; returns what was done
	clean   []func(*run) error          // not timed; after it the server is to be as before
	eos     float64                     // what EOS does: operations/s or MiB/s; 0 if not known
	// more measures how much CPU a byte may cost beyond the peer's, with files of n bytes; nil if there is no such goal.
	more func(n int64) (float64, error)
}

// bytes returns the length of each client's file.
func (w *row) bytes(o *Options) int64 { return o.FileBytes / max(w.part, 1) }

// steps are the measured parts of a row.
// Preparation and cleaning are lists of the same form.
type steps = []func(*run) error

// widths are the numbers of connections.
// More than 16 do not fit two cores without measuring the scheduler.
var widths = []int{1, 4, 16}

// peerRows returns the rows that are measured at the C++ server and at Hemera. The rows of stock clients come first: they
// are what users see.
func peerRows() []row {
	var rows []row
	for _, n := range widths {
		// The stock client reads and writes pages if the server can.
		for _, pages := range []bool{true, false} {
			rows = append(rows,
				row{name: "xrdcp read, " + kind(pages), clients: n, bulk: true,
					run: func(r *run) (float64, error) { return r.xrdcp(false, pages) }},
				row{name: "xrdcp write, " + kind(pages), clients: n, bulk: true, part: share(n),
					run: func(r *run) (float64, error) { return r.xrdcp(true, pages) }, clean: steps{(*run).removeNew}})
		}
	}
	for _, n := range widths {
		for _, pages := range []bool{true, false} {
			rows = append(rows,
				row{name: "read, " + kind(pages), clients: n, bulk: true, prepare: steps{(*run).openBig},
					run: func(r *run) (float64, error) { return r.bulkRead(pages) }, clean: steps{(*run).closeBig}},
				row{name: "write, " + kind(pages), clients: n, bulk: true, part: share(n),
					run: func(r *run) (float64, error) { return r.bulkWrite(pages, bulkStep, bulkFlight) }, clean: steps{(*run).removeNew}})
		}
	}
	// The first time: bytes that no one has read since they were written, which a server that keeps checksums must verify.
	rows = append(rows, row{name: "read, plain, first time", clients: 1, bulk: true,
		prepare: steps{(*run).writeFresh, (*run).openFresh}, run: func(r *run) (float64, error) { return r.bulkRead(false) },
		clean: steps{(*run).closeBig, (*run).removeNew}})
	// Latency at depth 1, throughput at 32.
	for _, size := range []int{4, 64} {
		for _, depth := range []int{1, 32} {
			for _, n := range widths {
				rows = append(rows, row{name: fmt.Sprintf("random %d KiB reads, depth %d", size, depth), clients: n, prepare: steps{(*run).openBig},
					run: func(r *run) (float64, error) { return r.random(size<<10, depth) }, clean: steps{(*run).closeBig}})
			}
		}
	}
	for _, n := range widths {
		rows = append(rows,
			row{name: "stat", clients: n, run: stat},
			// 37 and the file count have no common factor, so clients spread over all files.
			row{name: "open+close", clients: n, run: func(r *run) (float64, error) {
				return r.rate(func(i, n int, s *session) error { return openClose(s, treeFile(n*37+i)) })
			}},
			row{name: "create+close", clients: n, prepare: steps{(*run).ownDirs}, run: timed(create), clean: steps{prepared(remove)}},
			row{name: "create+write 4 KiB+close", clients: n, prepare: steps{(*run).ownDirs}, run: timed(createFilled), clean: steps{prepared(remove)}},
			// Names are free again at once, so that the row can last as long as it wants.
			row{name: "create+close+rm", clients: n, prepare: steps{(*run).ownDirs}, run: func(r *run) (float64, error) {
				return r.rate(func(i, n int, s *session) error {
					if err := create(s, ownName(i, n)); err != nil {
						return err
					}
					return remove(s, ownName(i, n))
				})
			}})
	}
	return rows
}

// kind names reads and writes with or without page checksums.
func kind(pages bool) string {
	if pages {
		return "pages"
	}
	return "plain"
}

// share makes files shorter where many are written at once, so that they fit into memory twice.
// A quarter of the connections is the factor.
func share(clients int) int64 { return int64(max(clients/4, 1)) }

// stat measures stat.
func stat(r *run) (float64, error) {
	return r.rate(func(i, n int, s *session) error { return s.do(wire.Stat{}, treeFile(n*37+i)) })
}

// readdir measures listings.
// It counts entries, not listings.
func readdir(r *run) (float64, error) {
	entries := make([]float64, len(r.clients))
	_, err := r.rate(func(i, _ int, s *session) error {
		n, err := s.list(treeDir)
		entries[i] += float64(n)
		return err
	})
	total := 0.0
	for _, n := range entries {
		total += n
	}
	return total, err
}

// writeFresh writes a file that nobody has read.
// It writes past the timed part, so that the read that follows is the first.
func (r *run) writeFresh() error {
	_, err := r.bulkWrite(false, bulkStep, bulkFlight)
	return err
}

// openFresh opens a new file in each thread.
func (r *run) openFresh() error {
	r.files = make([]file, len(r.clients))
	return r.each(func(i int, s *session) (err error) {
		r.files[i], err = s.open(r.newFile(i), wire.OpenRead)
		return err
	})
}
