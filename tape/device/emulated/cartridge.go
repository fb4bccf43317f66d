package emulated

import (
	"encoding/json"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"

	"hemera/tape/device"
	"hemera/tape/timing"
	"hemera/words/errs"
)

const (
	pageRecords    = 512     // records that are read at a time
	pendingMax     = 1 << 16 // records in memory; more are written without a flush, as a drive does when its buffer is full
	discardBelow   = 4096    // blocks shorter than this are kept when data is discarded: labels and indexes
	cartridgesName = "cartridges"
)

// Attributes are the contents of the memory chip of a cartridge.
type Attributes struct {
	Loads          int64 `json:"loads"`         // since it was made
	BytesWritten   int64 `json:"bytes_written"` // by hosts, without overhead
	BytesRead      int64 `json:"bytes_read"`
	WriteProtected bool  `json:"write_protected"` // the switch at the case
}

// cartridge is the open files of one cartridge. The holder of the drive's
// token uses it.
type cartridge struct {
	barcode     string
	media       timing.Media
	base        string   // path of its files without their endings
	index, data *os.File // open while the cartridge is loaded
	options     Options
	attributes  Attributes // saved at load and unload

	committed uint64   // records in the index file
	last      record   // of them
	pending   []record // behind the committed ones: the buffer
	page      []byte   // of the index file, from record pageStart on
	pageStart uint64
}

// openCartridge opens the files of a cartridge and makes those that are
// missing.
func openCartridge(dir, barcode string, media timing.Media, o Options) (c *cartridge, err error) {
	c = &cartridge{barcode: barcode, media: media, base: filepath.Join(dir, cartridgesName, barcode), options: o}
	if c.attributes, err = readAttributes(c.base); err != nil {
		return nil, err
	}
	if c.index, err = os.OpenFile(c.base+".index", os.O_RDWR|os.O_CREATE, 0o640); err != nil {
		return nil, errs.Wrap(err, "emulated.Load", barcode)
	}
	if c.data, err = os.OpenFile(c.base+".data", os.O_RDWR|os.O_CREATE, 0o640); err != nil {
		c.index.Close()
		return nil, errs.Wrap(err, "emulated.Load", barcode)
	}
	// Records are good only as far as their bytes are there.
	info, err := c.data.Stat()
	if err == nil {
		c.committed, c.last, err = countRecords(c.index, info.Size())
	}
	if err != nil {
		c.close()
		return nil, errs.Wrap(err, "emulated.Load", barcode)
	}
	return c, nil
}

// close closes the files. What was not committed is lost.
func (c *cartridge) close() {
	c.index.Close()
	c.data.Close()
}

// readAttributes reads the memory chip; a new cartridge has an empty one.
func readAttributes(base string) (a Attributes, err error) {
	b, err := os.ReadFile(base + ".json")
	if errors.Is(err, fs.ErrNotExist) {
		return a, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &a)
	}
	return a, errs.Wrap(err, "emulated.Load", filepath.Base(base))
}

// saveAttributes writes the memory chip.
func (c *cartridge) saveAttributes() error {
	return saveJSON(c.base+".json", c.attributes)
}

// count returns the number of objects.
func (c *cartridge) count() uint64 { return c.committed + uint64(len(c.pending)) }

// end returns what a record behind the last object begins with.
func (c *cartridge) end() record {
	if n := len(c.pending); n > 0 {
		return c.pending[n-1].next()
	}
	return c.last.next()
}

// record returns that of an object.
func (c *cartridge) record(object uint64) (record, error) {
	// What is not committed is in memory.
	if object >= c.committed {
		return c.pending[object-c.committed], nil
	}
	if object < c.pageStart || object >= c.pageStart+uint64(len(c.page)/recordSize) {
		// Reading goes ahead as a rule: a page serves the next few hundred objects.
		start := object / pageRecords * pageRecords
		page := make([]byte, min(pageRecords, c.committed-start)*recordSize)
		if _, err := c.index.ReadAt(page, int64(start)*recordSize); err != nil {
			return record{}, errs.Wrap(err, "emulated.Read", c.barcode)
		}
		c.page, c.pageStart = page, start
	}
	r, ok := decode(c.page[(object-c.pageStart)*recordSize:], object)
	if !ok { // it was good when the cartridge was loaded
		return record{}, fail("emulated.Read", c.barcode, device.ErrMedium)
	}
	return r, nil
}

// at returns where on tape an object begins, in bytes; the end of data for
// one that is not there.
func (c *cartridge) at(object uint64) (int64, error) {
	if object >= c.count() {
		return int64(c.end().at), nil
	}
	r, err := c.record(object)
	return int64(r.at), err
}

// marksBefore returns how many filemarks stand before an object.
func (c *cartridge) marksBefore(object uint64) (uint32, error) {
	if object >= c.count() {
		return c.end().marks, nil
	}
	r, err := c.record(object)
	return r.marks, err
}

// mark returns the object number of the filemark that has n filemarks before
// it. There must be one.
func (c *cartridge) mark(n uint32) (object uint64, err error) {
	// The first object with more marks before it stands right behind the mark.
	low, high := uint64(0), c.count()
	for low < high {
		middle := low + (high-low)/2
		before, err := c.marksBefore(middle)
		if err != nil {
			return 0, err
		}
		if before > n {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return low - 1, nil
}

// truncate removes all objects from one on. The removal is durable when it
// returns, so that new data never stands where an old record points.
func (c *cartridge) truncate(object uint64) error {
	if object >= c.committed {
		c.pending = c.pending[:object-c.committed]
		return nil
	}
	last := record{}
	if object > 0 {
		var err error
		if last, err = c.record(object - 1); err != nil {
			return err
		}
	}
	// Memory first: after an error the cartridge is shorter, never inconsistent.
	c.pending, c.page, c.committed, c.last = nil, nil, object, last
	err := c.index.Truncate(int64(object) * recordSize)
	if err == nil {
		err = c.sync(c.index)
	}
	if err == nil {
		err = c.data.Truncate(int64(last.data) + int64(last.stored))
	}
	return errs.Wrap(err, "emulated.Write", c.barcode)
}

// append adds an object with its stored bytes.
func (c *cartridge) append(r record, stored []byte) error {
	n := c.end()
	r.marks, r.at, r.data, r.stored = n.marks, n.at, n.data, uint32(len(stored))
	r.sum = crc32.Checksum(stored, castagnoli())
	// The page cache takes the bytes now. They are durable with the next commit.
	if len(stored) > 0 {
		if _, err := c.data.WriteAt(stored, int64(r.data)); err != nil {
			return errs.Wrap(err, "emulated.Write", c.barcode)
		}
	}
	c.pending = append(c.pending, r)
	if len(c.pending) >= pendingMax {
		return c.commit()
	}
	return nil
}

// commit makes all objects durable.
func (c *cartridge) commit() error {
	if len(c.pending) == 0 {
		return nil
	}
	b := make([]byte, 0, len(c.pending)*recordSize)
	for i, r := range c.pending {
		b = r.encode(b, c.committed+uint64(i))
	}
	// Data before records: a record never points to bytes that are not durable.
	err := c.sync(c.data)
	if err == nil {
		_, err = c.index.WriteAt(b, int64(c.committed)*recordSize)
	}
	if err == nil {
		err = c.sync(c.index)
	}
	if err != nil {
		return errs.Wrap(err, "emulated.Flush", c.barcode)
	}
	// From here on the objects survive everything.
	c.last = c.pending[len(c.pending)-1]
	c.committed += uint64(len(c.pending))
	c.pending, c.page = c.pending[:0], nil
	return nil
}

// sync makes a file durable, unless the library does not care about the power
// of its machine.
func (c *cartridge) sync(f *os.File) error {
	if c.options.NoSync {
		return nil
	}
	return f.Sync()
}

// lose forgets what was not committed: the power of the drive is cut.
func (c *cartridge) lose() { c.pending = c.pending[:0] }

// load reads the stored bytes of a block and checks them.
func (c *cartridge) load(r record, buf []byte) error {
	if _, err := c.data.ReadAt(buf[:r.stored], int64(r.data)); err != nil {
		return errs.Wrap(err, "emulated.Read", c.barcode)
	}
	if crc32.Checksum(buf[:r.stored], castagnoli()) != r.sum {
		return fail("emulated.Read", c.barcode, device.ErrMedium)
	}
	return nil
}
