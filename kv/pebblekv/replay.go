package pebblekv

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/checksum"
	"hemera/errs"
	"hemera/kv"
)

// recordMax is more than the bytes of any batch: a length beyond it is none.
const recordMax = 2*kv.BatchBytes + 64*kv.BatchOps

// replay is what a start does with the logs of the lives before.
type replay struct {
	fs  vfs.FS
	dir string
	db  *pebble.DB
	// tables are where batches go before the logs are removed.
	tables *tables
	last   uint64 // number of the last batch that the database has
}

// run gives the database the batches that it lost with its memory, has it write them to tables and
// removes the logs. It returns the highest number of a log. Corrupt when batches are missing that were
// durable.
func (r *replay) run() (highest uint64, err error) {
	if err := r.fs.MkdirAll(r.dir, 0o755); err != nil {
		return 0, err
	}
	names, err := r.fs.List(r.dir)
	if err != nil {
		return 0, err
	}
	var logs []uint64
	for _, name := range names {
		if number, ok := logNumber(name); ok {
			logs = append(logs, number)
		}
	}
	slices.Sort(logs)
	before := r.last
	for _, number := range logs {
		if err := r.file(logName(number)); err != nil {
			return 0, err
		}
		highest = number
	}
	if r.last > before {
		if err := r.tables.flush(); err != nil {
			return 0, err
		}
	}
	for _, number := range logs {
		if err := r.fs.Remove(r.fs.PathJoin(r.dir, logName(number))); err != nil {
			return 0, err
		}
	}
	return highest, syncDir(r.fs, r.fs.PathDir(r.dir))
}

// file applies the batches of one log that are new. A log ends where its records do: behind are zeros, what
// is left of an older log, or what a crash tore. Nothing behind was acknowledged, unless a later
// log goes on.
func (r *replay) file(name string) error {
	file, err := r.fs.Open(r.fs.PathJoin(r.dir, name), vfs.SequentialReadsOption)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	in := bufio.NewReaderSize(file, 1<<20)
	magic := make([]byte, len(logMagic))
	if _, err := io.ReadFull(in, magic); err != nil || string(magic) != logMagic {
		return ended(err)
	}
	for previous := uint64(0); ; {
		number, batch, err := readRecord(in)
		switch {
		case err != nil:
			return ended(err)
		case batch == nil || previous != 0 && number != previous+1:
			return nil
		case number > r.last+1:
			return errs.New(errs.Corrupt, "kv.Open", name, fmt.Sprintf("batches %d to %d are missing from the store's log", r.last+1, number-1)).
				WithRemedy("restore the manager's store from its latest backup")
		case number == r.last+1:
			if err := r.apply(batch); err != nil {
				return err
			}
			r.last = number
		}
		previous = number
	}
}

// ended is nil for the errors of a file that is too short.
func ended(err error) error {
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return nil
	}
	return err
}

// readRecord returns no batch where there is none.
func readRecord(in io.Reader) (number uint64, batch []byte, err error) {
	var head [recordHead]byte
	if _, err := io.ReadFull(in, head[:]); err != nil {
		return 0, nil, err
	}
	size := binary.BigEndian.Uint32(head[4:])
	if size == 0 || size > recordMax {
		return 0, nil, nil
	}
	batch = make([]byte, size)
	if _, err := io.ReadFull(in, batch); err != nil {
		return 0, nil, err
	}
	sum := checksum.UpdateCRC32C(checksum.CRC32C(head[4:]), batch)
	if sum != binary.BigEndian.Uint32(head[:]) {
		return 0, nil, nil
	}
	return binary.BigEndian.Uint64(head[8:]), batch, nil
}

func (r *replay) apply(batch []byte) error {
	b := r.db.NewBatch()
	if err := b.SetRepr(batch); err != nil {
		return err
	}
	if err := r.db.Apply(b, pebble.NoSync); err != nil {
		return err
	}
	return b.Close()
}
