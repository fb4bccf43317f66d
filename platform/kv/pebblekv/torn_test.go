package pebblekv

import (
	"bytes"
	"math/rand/v2"
	"testing"
)

// disk is a file of the log: what was synced, and what was written since.
type disk struct{ synced, written []byte }

func (d *disk) write(at int, b []byte) { copy(d.written[at:], b) }
func (d *disk) sync()                  { d.synced = bytes.Clone(d.written) }

// cut is the file after a power cut: any of the sectors written since the sync, whatever of them is in one write.
func (d *disk) cut(r *rand.Rand) []byte {
	const sector = 512
	left, percent := bytes.Clone(d.synced), r.IntN(101)
	for at := 0; at < len(left); at += sector {
		if r.IntN(100) < percent {
			copy(left[at:min(at+sector, len(left))], d.written[at:])
		}
	}
	return left
}

// TestTornSectors: of a log that was cut off anywhere, in a new file or one that an older log was in, no record says
// that a batch was durable which is not there; with a sector of an earlier lot lost, one does.
func TestTornSectors(t *testing.T) {
	m := mark{3, 1, 4, 1, 5, 9, 2, 6}
	noticed := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 9))
		d := &disk{make([]byte, 64<<10), make([]byte, 64<<10)}
		number, lives := uint64(0), 1+r.IntN(3)
		var known, durable, start, end int
		for life := range lives { // each overwrites the file from its beginning on
			d.write(0, []byte(logMagic))
			known, end = int(number), len(logMagic)
			for range 1 + r.IntN(12) {
				durable, start = int(number), end
				var lot []byte
				for range 1 + r.IntN(6) {
					number++
					lot = record{number, uint64(durable), bytes.Repeat([]byte{byte(number)}, 1+r.IntN(800))}.appendTo(lot, m)
				}
				d.write(end, lot)
				end += len(lot)
				if last := life == lives-1; !last || r.IntN(8) > 0 {
					d.sync()
				} else {
					break
				}
			}
		}
		last, claimed := replayed(t, d.cut(r), m, known)
		if last < durable || claimed > last {
			t.Errorf("seed %d: %d batches, %d were durable, a record says %d", seed, last, durable, claimed)
		}
		if start > len(logMagic) {
			damaged := bytes.Clone(d.written)
			at := len(logMagic) + r.IntN(start-len(logMagic))
			clear(damaged[at:min(at+512, start)])
			if last, claimed := replayed(t, damaged, m, known); last < durable && claimed <= last {
				t.Errorf("seed %d: of %d durable batches %d are there, and nobody knows", seed, durable, last)
			} else if claimed > last {
				noticed++
			}
		}
	}
	if noticed < 30 {
		t.Errorf("%d times damage was noticed", noticed)
	}
}

// replayed is up to where batches go on behind those that are known, and how many a record says were durable.
func replayed(t *testing.T, file []byte, m mark, known int) (last, durable int) {
	t.Helper()
	last = known
	for _, r := range found(t, file, m) {
		durable = max(durable, int(r.durable))
		if int(r.number) == last+1 {
			last++
		}
	}
	return last, durable
}
