package nsload

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"hemera/namespace"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Shape is the tree that [Load] makes: leaf directories full of files, below directories of directories. All fields but
// Files have defaults for their zero values. The same shape always makes the same tree, except for times.
type Shape struct {
	Files       int64
	FilesPerDir int64 // in a leaf directory; 0: 1,000
	DirsPerDir  int64 // in any other directory, 2 or more; 0: 1,000
	// Size is the mean size of a file in bytes; sizes are from half of it to one and a half. Files without bytes have no
	// pieces.
	Size int64
	// Replicas is the number of Disks with a piece of each file; 0: 2. Neighbours in Disks have copies of the same file.
	Replicas int
	Disks    []hemera.DiskID
	Seed     uint64 // of sizes, times and checksums
	UID, GID uint32
	Space    hemera.SpaceName // "": default
	// Tape has the state of the files on tape; nil: none.
	Tape *TapeShape
}

// level has the directories at one distance from the top. Directory number i of a level has the children from i·fan on of
// the next.
type level struct {
	first hemera.FileID // ids of a level are consecutive
	count int64         // directories in it
	fan   int64         // children of each, directories of the next level or files
}

// laidOut is a shape with its ids and names. All of them are computed: ids are assigned breadth first, so that the order
// of entries by (parent, name) is that of their ids, and any part of any table can be made without the rest.
type laidOut struct {
	Shape
	levels []level       // from the top down; the last has the files
	dirs   int64         // the top included
	base   hemera.FileID // the top's id; directories and then files follow
	parent hemera.FileID // of the top
	name   string        // of the top
	now    time.Time     // time of all changes
	digits int           // of the numbers in names
}

// lay computes the ids and names of the shape at its place.
func (s Shape) lay(at *namespace.Graft) *laidOut {
	base := at.Base
	out := &laidOut{Shape: s, base: base, parent: at.Parent, name: at.Name, now: at.Now}
	counts := []int64{ceil(s.Files, s.FilesPerDir)}
	for counts[0] > 1 {
		counts = append([]int64{ceil(counts[0], s.DirsPerDir)}, counts...)
	}
	first := base
	for i, n := range counts {
		fan := s.DirsPerDir
		if i == len(counts)-1 {
			fan = s.FilesPerDir
		}
		out.levels = append(out.levels, level{first, n, fan})
		first += hemera.FileID(n)
		out.dirs += n
	}
	most := max(s.FilesPerDir, s.DirsPerDir, counts[len(counts)-1])
	out.digits = max(6, len(strconv.FormatInt(most, 10)))
	return out
}

// ceil returns the number of groups of b for a items, at least one.
func ceil(a, b int64) int64 { return max(1, (a+b-1)/b) }

// defaults fills in defaults. It fails with Invalid for numbers that make no tree.
func (s Shape) defaults() (Shape, error) {
	if s.FilesPerDir == 0 {
		s.FilesPerDir = 1000
	}
	if s.DirsPerDir == 0 {
		s.DirsPerDir = 1000
	}
	if s.Replicas == 0 {
		s.Replicas = 2
	}
	if s.Space == "" {
		s.Space = hemera.DefaultSpace
	}
	wrong := ""
	if s.Tape != nil {
		tape := *s.Tape // a copy, because the caller's must not change
		s.Tape, wrong = &tape, tape.wrong(s.Files)
	}
	switch {
	case s.Files < 1 || s.Files > math.MaxInt32*1000:
		wrong = fmt.Sprintf("%d is no number of files", s.Files)
	case s.FilesPerDir < 1 || s.DirsPerDir < 2:
		wrong = "a directory needs room for a file, or for two directories"
	case s.Size < 0 || s.Size > hemera.FileSizeMax/2:
		wrong = fmt.Sprintf("files cannot have %d bytes", s.Size)
	case s.Replicas < 1 || s.Replicas > hemera.ReplicasMax:
		wrong = fmt.Sprintf("files have 1 to %d replicas, not %d", hemera.ReplicasMax, s.Replicas)
	case s.Tape != nil && s.Size == 0:
		wrong = "files without bytes are not archived"
	case s.Size > 0 && len(s.Disks) < s.Replicas:
		wrong = fmt.Sprintf("%d replicas need as many disks, there are %d", s.Replicas, len(s.Disks))
	}
	if wrong != "" {
		return s, errs.New(errs.Invalid, "namespace.Load", "", wrong)
	}
	return s, nil
}

// entries returns the number of ids of the tree.
func (s *laidOut) entries() int64 { return s.dirs + s.Files }

// entry sets e to entry i of the tree: directories from the top on, then files.
func (s *laidOut) entry(i int64, e *hemera.Entry) {
	if i >= s.dirs {
		s.file(i-s.dirs, e)
		return
	}
	*e = hemera.Entry{ID: s.base + hemera.FileID(i), Kind: hemera.KindDirectory, Parent: s.parent, Name: s.name,
		Mode: 0o755, UID: s.UID, GID: s.GID, Mtime: s.now, Ctime: s.now, Birth: s.now}
	l, at := s.levelOf(i)
	if l == 0 {
		return
	}
	above := s.levels[l-1]
	e.Parent = above.first + hemera.FileID(at/above.fan)
	prefix := "set"
	if l == len(s.levels)-1 {
		prefix = "run"
	}
	e.Name = s.numbered(prefix, at, "")
}

// levelOf returns the level of directory i, and its number in the level.
func (s *laidOut) levelOf(i int64) (l int, at int64) {
	for l = range s.levels {
		if at = i - int64(s.levels[l].first-s.base); at < s.levels[l].count {
			break
		}
	}
	return l, at
}

// numbered makes a name; the byte order of names with one prefix is that of their numbers.
func (s *laidOut) numbered(prefix string, n int64, suffix string) string {
	b := append(make([]byte, 0, 32), prefix...)
	digits := strconv.AppendInt(make([]byte, 0, 20), n, 10)
	for range s.digits - len(digits) {
		b = append(b, '0')
	}
	return string(append(append(b, digits...), suffix...))
}

// file sets e to file i. It reuses the memory of Checksums and Pieces, so that a billion files cause no garbage.
func (s *laidOut) file(i int64, e *hemera.Entry) {
	leaf := s.levels[len(s.levels)-1]
	r := mix(s.Seed ^ mix(uint64(i)))
	sums, pieces, copies := e.Checksums[:0], e.Pieces[:0], e.Tape[:0]
	*e = hemera.Entry{ID: s.base + hemera.FileID(s.dirs+i), Parent: leaf.first + hemera.FileID(i/leaf.fan), Kind: hemera.KindFile,
		Name: s.numbered("evt-", i%leaf.fan, ".root"), Mode: 0o644, UID: s.UID, GID: s.GID,
		Mtime: s.now.Add(-time.Duration(r%(365*24*3600)) * time.Second), Ctime: s.now, Birth: s.now,
		Size: s.size(i), Gen: 1, Layout: hemera.Replica(s.Replicas), Space: s.Space}
	sum := hemera.Checksum{Kind: hemera.Adler32}
	for b := range 4 {
		sum.Value[b] = byte(r >> (32 + 8*b))
	}
	e.Checksums = append(sums, sum)
	e.Pieces, e.Tape = pieces, copies
	if s.Tape != nil {
		s.archived(i, e)
	}
	if !s.onDisk(i) {
		return
	}
	for p := range s.Replicas {
		e.Pieces = append(e.Pieces, hemera.Piece{Index: uint8(p), Disk: s.disk(i, p)})
	}
}

// disk returns the disk of piece p of file i: files are distributed over the disks in turn, and neighbours have copies of
// each other.
func (s *laidOut) disk(i int64, p int) hemera.DiskID {
	return s.Disks[(i+int64(p))%int64(len(s.Disks))]
}

// size returns the number of bytes of file i: a fixed pseudo-random number around the mean.
func (s *laidOut) size(i int64) int64 {
	if s.Size == 0 {
		return 0
	}
	return s.Size/2 + int64(mix(s.Seed+uint64(i))%uint64(s.Size)) + 1
}

// totals adds up everything below directory i; its files are one range because ids are assigned breadth first.
func (s *laidOut) totals(i int64) (t hemera.TreeTotals) {
	l, at := s.levelOf(i)
	lo, hi := at, at+1
	for ; l < len(s.levels)-1; l++ {
		lo, hi = lo*s.levels[l].fan, min(hi*s.levels[l].fan, s.levels[l+1].count)
		t.Dirs += hi - lo
	}
	leaf := s.levels[l]
	lo, hi = lo*leaf.fan, min(hi*leaf.fan, s.Files)
	t.Files = hi - lo
	for f := lo; f < hi && s.Size > 0; f++ {
		t.Bytes += s.size(f)
		if s.onDisk(f) {
			t.Physical += s.size(f) * int64(s.Replicas)
		}
	}
	return t
}

// depth returns the number of levels of directories below directory i.
func (s *laidOut) depth(i int64) int64 {
	l, _ := s.levelOf(i)
	return int64(len(s.levels) - 1 - l)
}

// Paths returns a function that returns the path of each file of the tree that [Load] makes of the shape at the path.
func (s Shape) Paths(top string) (func(file int64) string, error) {
	s, err := s.defaults()
	if err != nil {
		return nil, err
	}
	laid := s.lay(new(namespace.Graft))
	return func(file int64) string {
		var e hemera.Entry
		laid.file(file, &e)
		path := e.Name
		for e.Parent != 0 {
			laid.entry(int64(e.Parent), &e)
			path = e.Name + "/" + path
		}
		return top + "/" + path
	}, nil
}

// mix returns the finalizer of SplitMix64 (Steele, Lea, Flood 2014): neighbours become unlike.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
