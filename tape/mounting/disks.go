package mounting

import (
	"cmp"

	"hemera/words/hemera"
)

// Read is a file that a session reads from disk: where from, and how much.
type Read struct {
	Disk  hemera.DiskID
	Bytes int64
}

// Reads has the files that a session is to read, in its order. The zero value has none.
type Reads struct {
	left   []Read
	passed int64 // the bytes of those before
}

// Add puts a file behind the others.
func (r *Reads) Add(read Read) { r.left = append(r.left, read) }

// Left returns the files that are still to be read after the given number of bytes since the begin, from the file on that is read now. Files that
// failed count as read too late, which spreads a little worse. What Left has returned does not change later.
func (r *Reads) Left(done int64) []Read {
	for len(r.left) > 0 && r.left[0].Bytes <= done-r.passed {
		r.passed += r.left[0].Bytes
		r.left = r.left[1:]
	}
	return r.left
}

// SpreadDisks orders the files that a session is to read, so that it reads other disks than the sessions beside it, where that is possible: two
// drives that read one disk get half of it each. It returns indexes of reads. Files of one disk keep their order.
//
// beside is what each of the other sessions has before it, in its order, from the file on that it reads now. Drives are taken to be equally
// fast, so that all sessions get as far as this one.
func SpreadDisks(reads []Read, beside [][]Read) (order []int) {
	left := newPiles(reads)
	others := make([]walk, len(beside))
	later := map[hemera.DiskID]int64{} // what all others are still to read
	for i, b := range beside {
		others[i].reads = b
		for _, r := range b {
			later[r.Disk] += r.Bytes
		}
	}
	for len(order) < len(reads) {
		// The oldest file says how far to look: those that wait together are about equally large.
		next := left.oldest().Bytes
		busy := map[hemera.DiskID]int64{}
		for i := range others {
			others[i].ahead(next, busy)
		}
		i := left.take(busy, later)
		order = append(order, i)
		for j := range others {
			others[j].pass(reads[i].Bytes, later)
		}
	}
	return order
}

// pile is the files of one disk that have no place in the order yet.
type pile struct {
	disk  hemera.DiskID
	files []int // indexes, the oldest first
	bytes int64
}

// piles are those of all disks, in the order of their oldest files at the begin.
type piles struct {
	reads []Read
	all   []*pile
}

func newPiles(reads []Read) *piles {
	p := &piles{reads: reads}
	of := map[hemera.DiskID]*pile{}
	for i, r := range reads {
		if of[r.Disk] == nil {
			of[r.Disk] = &pile{disk: r.Disk}
			p.all = append(p.all, of[r.Disk])
		}
		of[r.Disk].files = append(of[r.Disk].files, i)
		of[r.Disk].bytes += r.Bytes
	}
	return p
}

// oldest returns the first file in the order of asking.
func (p *piles) oldest() Read {
	first := p.all[0].files[0]
	for _, one := range p.all {
		first = min(first, one.files[0])
	}
	return p.reads[first]
}

// take takes the first file of the disk that others read least now. Of equal ones it is the one with most bytes left, so that the last files
// are not all on one disk, and of those one that others come to later.
func (p *piles) take(busy, later map[hemera.DiskID]int64) (index int) {
	best := 0
	for i, one := range p.all {
		was := p.all[best]
		if cmp.Or(cmp.Compare(busy[was.disk], busy[one.disk]), cmp.Compare(one.bytes, was.bytes), cmp.Compare(later[one.disk], later[was.disk])) > 0 {
			best = i
		}
	}
	from := p.all[best]
	index, from.files = from.files[0], from.files[1:]
	if from.bytes -= p.reads[index].Bytes; len(from.files) == 0 {
		p.all = append(p.all[:best], p.all[best+1:]...)
	}
	return index
}

// walk is a session that goes through its files.
type walk struct {
	reads []Read
	done  int64 // bytes of the first one
}

// ahead adds what the session reads of each disk while this one reads so many bytes, and half of the file behind that: nobody knows how much of
// its first file the session has read.
func (w *walk) ahead(bytes int64, busy map[hemera.DiskID]int64) {
	bytes += w.done
	for _, r := range w.reads {
		if bytes <= 0 {
			busy[r.Disk] += r.Bytes / 2
			return
		}
		busy[r.Disk] += r.Bytes
		bytes -= r.Bytes
	}
}

// pass goes on by so many bytes.
func (w *walk) pass(bytes int64, later map[hemera.DiskID]int64) {
	w.done += bytes
	for len(w.reads) > 0 && w.done >= w.reads[0].Bytes {
		later[w.reads[0].Disk] -= w.reads[0].Bytes
		w.done -= w.reads[0].Bytes
		w.reads = w.reads[1:]
	}
}
