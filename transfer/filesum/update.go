package filesum

import (
	"slices"

	"hemera/rules/checksum"
	"hemera/transfer/extents"
	"hemera/words/hemera"
)

// step is the number of bytes in one read.
const step = 1 << 20

// Update computes the checksums of an updated content from those of its base and the bytes that changed: most of a large file stays as
// it is in an update, and reading it back for a checksum would cost more than the update. It does no I/O of its own: a caller says what
// was changed, and passes functions that read. Update remembers where an update differs from its base. A nil one remembers nothing. It is not safe for concurrent use.
type Update struct {
	size    int64             // of the base
	sums    []hemera.Checksum // of the base
	changed extents.Set
}

// newUpdate begins an update of a content of size bytes with the checksums have. It returns nil if the checksums of the kinds do
// not follow from those: one is missing, or is a digest, which has to see every byte.
func newUpdate(size int64, have []hemera.Checksum, kinds []hemera.ChecksumKind) *Update {
	u := &Update{size: size}
	for _, k := range kinds {
		sum, ok := hemera.FindChecksum(have, k)
		if !ok || slices.Contains(u.sums, sum) {
			return nil
		}
		u.sums = append(u.sums, sum)
	}
	if checksum.NewChange(size, u.sums) == nil {
		return nil
	}
	return u
}

// Wrote records that n bytes at off may have changed. Those that have not do no harm.
func (u *Update) Wrote(off, n int64) {
	if u != nil {
		u.changed.Add(off, off+n)
	}
}

// Cut records that the content had size bytes at a time: what the base has behind that is gone, or was written since.
func (u *Update) Cut(size int64) {
	if u != nil {
		u.changed.Add(size, u.size)
	}
}

// Cost returns how many bytes Sums reads for a content that has size bytes now; false if it cannot be called.
func (u *Update) Cost(size int64) (n int64, ok bool) {
	if u == nil {
		return 0, false
	}
	for _, end := range []int64{u.size, size} {
		for _, e := range u.changed.Within(0, end) {
			n += e.To - e.From
		}
	}
	return n, true
}

// Read returns n bytes of a content at off, which lie within it. The caller of Read does not keep them.
type Read func(off int64, n int) ([]byte, error)

// Sums returns the checksums of the content that has size bytes now, in the order of the kinds. base reads the base, and now
// the content as it is. Errors are those of the two.
func (u *Update) Sums(size int64, base, now Read) ([]hemera.Checksum, error) {
	change := checksum.NewChange(u.size, u.sums)
	if err := u.each(u.size, base, change.Remove); err != nil {
		return nil, err
	}
	// Bytes that were cut are zeros by now, and new ones are zeros still.
	change.Resize(size)
	if err := u.each(size, now, change.Add); err != nil {
		return nil, err
	}
	return change.Sums(), nil
}

// each gives do what was changed of a content that ends at end.
func (u *Update) each(end int64, read Read, do func(p []byte, off int64)) error {
	for _, e := range u.changed.Within(0, end) {
		for off := e.From; off < e.To; {
			// Steps end at their own multiples, so that all but the first read whole pages.
			n := min(step-off%step, e.To-off)
			p, err := read(off, int(n))
			if err != nil {
				return err
			}
			do(p, off)
			off += n
		}
	}
	return nil
}
