package gc

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"hemera/words/hemera"
)

// File is one file with a copy on disk.
type File struct {
	ID       hemera.FileID
	Bytes    int64     // that its pieces take on disks, and that become free
	Copies   []Copy    // durable ones, of the content that is on disk
	Asked    int       // copies that its storage class asks for; 0: it is not to be on tape
	Requests int       // its evict counter
	Busy     string    // what is done with it now, such as "it is being archived"; "" for nothing
	Used     time.Time // the latest of its last access, its archival and its recall
	Drop     bool      // its directory keeps nothing on disk that is on tape
}

// Copy is a copy on tape.
type Copy struct {
	Number uint8 // from 1
	VID    hemera.VID
	Lost   bool // the tape cannot be read until somebody acts
}

// Rules are the conditions under which files are evicted.
type Rules struct {
	Now    time.Time
	Wanted int64         // bytes to free, see [Wanted]; 0: none
	MinAge time.Duration // a file that was used less long ago stays, however much is wanted
	MaxAge time.Duration // a file that was not used for so long goes, also if nothing is wanted; 0: never
	// FilesMax bounds the files of one call, so that other work is not held up; what is left is chosen by the next call.
	FilesMax int
}

// DefaultRules keep files for two hours after their last use, as CTA's collector does, and evict nothing while there is room.
func DefaultRules() Rules { return Rules{MinAge: 2 * time.Hour, FilesMax: 1000} }

// Wanted returns how many bytes are to become free. Evicting begins below low, and goes on up to high: evicting says whether it goes on. In between files
// stay, so that it does not begin again for each file that is written.
func Wanted(free, low, high int64, evicting bool) int64 {
	if free < low || evicting && free < high {
		return max(high, low) - free
	}
	return 0
}

// Verdict is the decision on a file, and its reason.
type Verdict struct {
	Evict bool
	Why   string
}

// Choose returns a verdict for each file, in their order, and the bytes that become free.
func Choose(files []File, r Rules) (verdicts []Verdict, freed int64) {
	verdicts = make([]Verdict, len(files))
	var left []int // that may go
	for i, f := range files {
		if why := stays(f); why != "" {
			verdicts[i].Why = why
			continue
		}
		left = append(left, i)
	}
	// Those that go in any case come first, as they may be enough.
	slices.SortFunc(left, func(i, j int) int {
		x, y := files[i], files[j]
		return cmp.Or(byDrop(x, y), x.Used.Compare(y.Used), cmp.Compare(y.Bytes, x.Bytes), cmp.Compare(x.ID, y.ID))
	})
	chosen := 0
	for _, i := range left {
		v := r.judge(files[i], freed)
		if v.Evict && chosen >= r.FilesMax {
			v = Verdict{false, fmt.Sprintf("the next call: this one has its %d files", r.FilesMax)}
		}
		if verdicts[i] = v; v.Evict {
			chosen++
			freed += files[i].Bytes
		}
	}
	return verdicts, freed
}

// byDrop orders files of directories that keep nothing before others.
func byDrop(x, y File) int {
	switch {
	case x.Drop == y.Drop:
		return 0
	case x.Drop:
		return -1
	}
	return 1
}

// stays says why a file must not be evicted, whatever is wanted; "" if it may be.
func stays(f File) string {
	switch {
	case f.Bytes <= 0:
		return "it takes no space on disks"
	case f.Asked <= 0:
		return "it is not to be on tape"
	case f.Busy != "":
		return f.Busy
	case f.Requests > 0:
		return fmt.Sprintf("%d requests need it on disk", f.Requests)
	}
	if there := OnTapes(f); there < f.Asked {
		return fmt.Sprintf("%d of its %d tape copies are there", there, f.Asked)
	}
	return ""
}

// OnTapes counts the copies that are there: one of each number, on a tape that can be read and holds no other one that counts. While a repack leaves several
// copies of a number it may count too few, which is on the safe side.
func OnTapes(f File) (there int) {
	tapes := map[hemera.VID]bool{}
	for number := 1; number <= f.Asked; number++ {
		for _, c := range f.Copies {
			if int(c.Number) == number && !c.Lost && !tapes[c.VID] {
				tapes[c.VID] = true
				there++
				break
			}
		}
	}
	return there
}

// judge decides about a file that may go, when so many bytes are free already.
func (r Rules) judge(f File, freed int64) Verdict {
	unused := r.Now.Sub(f.Used)
	switch {
	case f.Drop:
		return Verdict{true, "its directory keeps nothing on disk that is on tape"}
	case r.MaxAge > 0 && unused >= r.MaxAge && unused >= r.MinAge:
		return Verdict{true, "it was not used for " + unused.Round(time.Minute).String()}
	case freed >= r.Wanted:
		return Verdict{false, "there is room"}
	case unused < r.MinAge:
		return Verdict{false, fmt.Sprintf("it was used %s ago, and stays for %s", unused.Round(time.Second), r.MinAge)}
	}
	return Verdict{true, fmt.Sprintf("room is needed, and it was not used for %s", unused.Round(time.Second))}
}
