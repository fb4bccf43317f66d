package gc

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"hemera/words/hemera"
)

func now() time.Time { return time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC) }

// file returns a file that is archived in two copies and was used three hours ago.
func file(id hemera.FileID, change ...func(*File)) File {
	f := File{ID: id, Bytes: 100, Asked: 2, Copies: []Copy{{Number: 1, VID: "A"}, {Number: 2, VID: "B"}}, Used: now().Add(-3 * time.Hour)}
	for _, c := range change {
		c(&f)
	}
	return f
}

func used(ago time.Duration) func(*File) { return func(f *File) { f.Used = now().Add(-ago) } }
func drop(f *File)                       { f.Drop = true }

func rules(wanted int64) Rules {
	r := DefaultRules()
	r.Now, r.Wanted = now(), wanted
	return r
}

func TestNeverEvicted(t *testing.T) {
	for _, one := range []struct {
		why    string
		change func(*File)
	}{
		{"1 of its 2 tape copies", func(f *File) { f.Copies = f.Copies[:1] }},
		{"0 of its 2 tape copies", func(f *File) { f.Copies = nil }},
		{"1 of its 2 tape copies", func(f *File) { f.Copies[1].Number = 1 }},
		{"1 of its 2 tape copies", func(f *File) { f.Copies[1].VID = "A" }},
		{"1 of its 2 tape copies", func(f *File) { f.Copies[1].Lost = true }},
		{"1 of its 2 tape copies", func(f *File) { f.Copies[1].Number = 3 }},
		{"1 of its 2 tape copies", func(f *File) { f.Copies[1].Number = 0 }},
		{"1 of its 2 tape copies", func(f *File) { f.Copies = []Copy{{1, "A", false}, {1, "B", false}, {2, "A", false}, {2, "A", true}} }},
		{"3 requests need it", func(f *File) { f.Requests = 3 }},
		{"it is being recalled", func(f *File) { f.Busy = "it is being recalled" }},
		{"not to be on tape", func(f *File) { f.Asked = 0 }},
		{"no space on disks", func(f *File) { f.Bytes = 0 }},
	} {
		// Whatever speaks for it: old, wanted, and its directory keeps nothing.
		f := file(1, used(1000*time.Hour), drop, one.change)
		r := rules(1 << 60)
		r.MaxAge = time.Hour
		got, freed := Choose([]File{f}, r)
		if got[0].Evict || freed != 0 || !strings.Contains(got[0].Why, one.why) {
			t.Errorf("%s: %+v", one.why, got)
		}
	}
}

func TestChoose(t *testing.T) {
	for _, one := range []struct {
		name  string
		files []File
		rules Rules
		evict []bool
		freed int64
		why   string // of the last file
	}{
		{"no need", []File{file(1)}, rules(0), []bool{false}, 0, "there is room"},
		{"a need", []File{file(1)}, rules(1), []bool{true}, 100, "room is needed, and it was not used for 3h0m0s"},
		{"the longest unused first", []File{file(1), file(2, used(5*time.Hour)), file(3, used(4*time.Hour))}, rules(150), []bool{false, true, true}, 200, "4h"},
		{"used lately", []File{file(1, used(2*time.Hour-1))}, rules(1), []bool{false}, 0, "stays for 2h"},
		{"just not lately", []File{file(1, used(2*time.Hour))}, rules(1), []bool{true}, 100, ""},
		{"a directory that keeps nothing", []File{file(1, used(0), drop)}, rules(0), []bool{true}, 100, "keeps nothing on disk"},
		{"may be enough", []File{file(1, used(9*time.Hour)), file(2, used(0), drop)}, rules(100), []bool{false, true}, 100, ""},
		{"too old", []File{file(1), file(2, used(9*time.Hour))}, func() Rules { r := rules(0); r.MaxAge = 5 * time.Hour; return r }(), []bool{false, true}, 100, "not used for 9h"},
		{"only so many", []File{file(1), file(2, used(9*time.Hour))}, func() Rules { r := rules(1000); r.FilesMax = 1; return r }(), []bool{false, true}, 100, ""},
		{"of equal ones the larger", []File{file(1), file(2, func(f *File) { f.Bytes = 200 })}, rules(1), []bool{false, true}, 200, ""},
	} {
		got, freed := Choose(one.files, one.rules)
		for i := range got {
			if got[i].Evict != one.evict[i] || got[i].Why == "" {
				t.Errorf("%s, file %d: %+v", one.name, i+1, got[i])
			}
		}
		if freed != one.freed || !strings.Contains(got[len(got)-1].Why, one.why) {
			t.Errorf("%s: %d bytes, %+v", one.name, freed, got)
		}
	}
}

func TestWanted(t *testing.T) {
	for _, one := range []struct {
		free, low, high int64
		evicting        bool
		want            int64
	}{
		{100, 10, 20, false, 0},
		{15, 10, 20, false, 0}, // it does not begin yet
		{15, 10, 20, true, 5},  // but goes on
		{9, 10, 20, false, 11},
		{20, 10, 20, true, 0},
		{9, 10, 5, false, 1}, // a high mark below the low one is the low one
	} {
		if got := Wanted(one.free, one.low, one.high, one.evicting); got != one.want {
			t.Errorf("%+v: %d", one, got)
		}
	}
}

// In random pages: nothing is evicted that must stay; enough is, if it may be; no file that stays was unused for longer than one that goes for room.
func TestRandomPages(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 5))
		var files []File
		for id := range hemera.FileID(r.IntN(30)) {
			f := file(id, used(time.Duration(r.IntN(10))*time.Hour))
			f.Bytes, f.Asked, f.Requests, f.Drop = r.Int64N(100), r.IntN(4), max(0, r.IntN(6)-4), r.IntN(6) == 0
			f.Copies = nil
			for n := range r.IntN(5) {
				f.Copies = append(f.Copies, Copy{uint8(1 + n), hemera.VID(string(rune('A' + r.IntN(6)))), r.IntN(9) == 0})
			}
			files = append(files, f)
		}
		rule := rules(r.Int64N(500))
		rule.FilesMax = 1 + r.IntN(20)
		got, freed := Choose(files, rule)
		var sum, could int64
		chosen := 0
		for i, f := range files {
			safe := f.Asked > 0 && f.Requests == 0 && f.Bytes > 0 && safeOnTapes(f)
			if got[i].Evict {
				chosen, sum = chosen+1, sum+f.Bytes
				if !safe {
					t.Fatalf("seed %d: %+v is evicted", seed, f)
				}
			} else if safe && now().Sub(f.Used) >= rule.MinAge {
				could += f.Bytes
			}
			for j, g := range files {
				if got[i].Evict && !f.Drop && !got[j].Evict && safeOnTapes(g) && g.Requests == 0 && g.Asked > 0 && g.Bytes > 0 && g.Used.Before(f.Used) {
					t.Fatalf("seed %d: %+v goes, and %+v stays", seed, f, g)
				}
			}
		}
		if sum != freed || chosen > rule.FilesMax {
			t.Fatalf("seed %d: %d bytes, said %d; %d files", seed, sum, freed, chosen)
		}
		if freed < rule.Wanted && could > 0 && chosen < rule.FilesMax {
			t.Fatalf("seed %d: %d bytes of %d wanted, and %d more could go", seed, freed, rule.Wanted, could)
		}
	}
}

// safeOnTapes decides the slow way: some choice of one readable copy of each number is on tapes that all differ.
func safeOnTapes(f File) bool {
	var pick func(n int, tapes string) bool
	pick = func(n int, tapes string) bool {
		if n > f.Asked {
			return true
		}
		for _, c := range f.Copies {
			if int(c.Number) == n && !c.Lost && !strings.Contains(tapes, string(c.VID)) && pick(n+1, tapes+string(c.VID)) {
				return true
			}
		}
		return false
	}
	return pick(1, "")
}
