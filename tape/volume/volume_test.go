package volume_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"time"

	"hemera/rules/checksum"
	"hemera/tape/device"
	"hemera/tape/internal/memtape"
	"hemera/tape/volume"
	"hemera/words/errs"
	"hemera/words/hemera"
)

const vid = "V01007"

func writer() volume.Writer {
	return volume.Writer{Site: "cern", Host: "tpsrv001", System: "HEMERA 0.2.0", Owner: "HEMERA",
		Drive: device.Identity{Vendor: "IBM", Product: "ULT3580-TD9", Serial: "1013000123"},
		Now:   func() time.Time { return time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC) }}
}

// labelled makes a new tape with its volume.
func labelled(t *testing.T) (*memtape.Tape, *volume.Volume) {
	t.Helper()
	m := &memtape.Tape{}
	if err := volume.Format(t.Context(), m, volume.Label{VID: vid}, writer()); err != nil {
		t.Fatal(err)
	}
	v, err := volume.Open(t.Context(), m, vid, writer())
	if err != nil {
		t.Fatal(err)
	}
	return m, v
}

func appendTo(t *testing.T, v *volume.Volume, last volume.Last) *volume.Appender {
	t.Helper()
	a, err := v.Append(t.Context(), volume.Known{Last: last})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// content returns the bytes of a file, other ones for each archive id.
func content(id uint64, size int) []byte {
	b := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(id), byte(id >> 8)}).Read(b)
	return b
}

func adler(b []byte) hemera.Checksum {
	sum, _ := checksum.Of(hemera.Adler32, b)
	return sum
}

// put writes a file in parts of some size, and notes it.
func put(t *testing.T, a *volume.Appender, id uint64, size, part int) volume.Written {
	t.Helper()
	if err := a.Begin(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	data := content(id, size)
	for p := data; len(p) > 0; p = p[min(part, len(p)):] {
		if err := a.Write(t.Context(), p[:min(part, len(p))]); err != nil {
			t.Fatal(err)
		}
	}
	w, err := a.End(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	a.Note(volume.Record{Kind: volume.KindFile, FSeq: w.FSeq, Block: w.Block, ArchiveID: id, Size: w.Size, Sums: []hemera.Checksum{adler(data)}, Path: "/f"})
	return w
}

// contents reads a whole file.
func contents(ctx context.Context, v *volume.Volume, w volume.Written) ([]byte, error) {
	f, err := v.OpenFile(ctx, volume.Place{FSeq: w.FSeq, Block: w.Block, ArchiveID: w.ArchiveID})
	if err != nil {
		return nil, err
	}
	var all []byte
	buf := make([]byte, f.BlockSize())
	for {
		n, err := f.Read(ctx, buf)
		if err == io.EOF {
			return all, nil
		}
		if err != nil {
			return all, err
		}
		all = append(all, buf[:n]...)
	}
}

func check(t *testing.T, v *volume.Volume, files ...volume.Written) {
	t.Helper()
	for _, w := range files {
		b, err := contents(t.Context(), v, w)
		if err != nil || !bytes.Equal(b, content(w.ArchiveID, int(w.Size))) {
			t.Errorf("file %d: %d bytes, %v", w.FSeq, len(b), err)
		}
	}
}

func TestFilesAreWhereTheFormatPutsThem(t *testing.T) {
	m, v := labelled(t)
	a := appendTo(t, v, volume.Last{})
	const b = volume.BlockSize
	var files []volume.Written
	block := uint64(1)
	for i, size := range []int{1, b - 1, b, b + 1, 3*b + 7, 80, 10 * b} {
		w := put(t, a, uint64(100+i), size, 100_000)
		want := volume.Written{FSeq: uint64(i + 1), Block: block, ArchiveID: uint64(100 + i), Size: int64(size), Bytes: int64(size) + 480}
		if i == 0 {
			want.Block = 0
		}
		if w != want {
			t.Errorf("%+v, want %+v", w, want)
		}
		block += uint64((size+b-1)/b) + volume.FileObjects
		files = append(files, w)
	}
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if n := len(m.Objects()); uint64(n) != block {
		t.Errorf("%d objects, want %d", n, block)
	}
	check(t, v, files...)
	check(t, v, files[5], files[1], files[0], files[6])
}

func TestFilesInOrderAreReadWithoutALocate(t *testing.T) {
	m, v := labelled(t)
	a := appendTo(t, v, volume.Last{})
	files := []volume.Written{put(t, a, 1, 1000, 1000), put(t, a, 2, 300_000, 1000), put(t, a, 3, 1000, 1000)}
	before := m.Locates
	check(t, v, files...)
	if got := m.Locates - before; got != 1 {
		t.Errorf("%d locates, want that of the first file", got)
	}
}

func TestAnAppendIsBehindWhatTheCatalogueHas(t *testing.T) {
	m, v := labelled(t)
	a := appendTo(t, v, volume.Last{})
	first, second := put(t, a, 1, 1000, 1000), put(t, a, 2, 300_000, 1000)
	put(t, a, 3, 5000, 1000) // was flushed, but the catalogue was not told
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	a = appendTo(t, v, volume.Last{FSeq: 2, ArchiveID: 2})
	third := put(t, a, 30, 700_000, 1<<20)
	if third.FSeq != 3 || third.Block != second.Block+2+volume.FileObjects {
		t.Errorf("%+v behind %+v", third, second)
	}
	check(t, v, first, second, third)
	for _, last := range []volume.Last{{FSeq: 4, ArchiveID: 40}, {FSeq: 3, ArchiveID: 3}, {FSeq: 99}} {
		if _, err := v.Append(t.Context(), volume.Known{Last: last}); !errors.Is(err, errs.Conflict) {
			t.Errorf("%+v: %v, want Conflict", last, err)
		}
	}
	m.Damage(int(third.Block)+5+3, 0) // its EOF1
	if _, err := v.Append(t.Context(), volume.Known{Last: volume.Last{FSeq: 3, ArchiveID: 30}}); !errors.Is(err, errs.Conflict) {
		t.Errorf("%v, want Conflict", err)
	}
}

func TestATapeThatStaysMountedIsNotRewound(t *testing.T) {
	m, v := labelled(t)
	a := appendTo(t, v, volume.Last{})
	first := put(t, a, 1, 1000, 1000)
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	rewinds := m.Rewinds
	a = appendTo(t, v, volume.Last{FSeq: 1, ArchiveID: 1})
	second := put(t, a, 2, 1000, 1000)
	if m.Rewinds != rewinds {
		t.Errorf("%d rewinds", m.Rewinds-rewinds)
	}
	// The catalogue has not heard of the second file, and then of neither.
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	a = appendTo(t, v, volume.Last{FSeq: 1, ArchiveID: 1})
	again := put(t, a, 3, 2000, 1000)
	if again.FSeq != 2 || again.Block != second.Block {
		t.Errorf("%+v in place of %+v", again, second)
	}
	check(t, v, first, again)
	a = appendTo(t, v, volume.Last{})
	check(t, v, put(t, a, 4, 5000, 1000))
}

func TestAnotherTapeIsRefused(t *testing.T) {
	m, _ := labelled(t)
	if _, err := volume.Open(t.Context(), m, "V01008", writer()); !errors.Is(err, errs.Conflict) {
		t.Errorf("%v, want Conflict", err)
	}
	if _, err := volume.Open(t.Context(), &memtape.Tape{}, vid, writer()); err == nil {
		t.Error("a blank tape was taken")
	}
}

func TestOnlyTapesWithoutFilesAreLabelled(t *testing.T) {
	m, v := labelled(t)
	if err := volume.Format(t.Context(), m, volume.Label{VID: vid}, writer()); err != nil {
		t.Errorf("an empty tape: %v", err)
	}
	if err := volume.Format(t.Context(), m, volume.Label{VID: "V01008"}, writer()); !errors.Is(err, errs.Conflict) {
		t.Errorf("another VID: %v, want Conflict", err)
	}
	put(t, appendTo(t, v, volume.Last{}), 1, 1000, 1000)
	if err := volume.Format(t.Context(), m, volume.Label{VID: vid}, writer()); !errors.Is(err, errs.NotEmpty) {
		t.Errorf("a tape with a file: %v, want NotEmpty", err)
	}
	if err := volume.Format(t.Context(), m, volume.Label{VID: "V01008", Force: true}, writer()); err != nil {
		t.Errorf("with force: %v", err)
	}
	found, err := volume.Inspect(t.Context(), m)
	if err != nil || found != (volume.Contents{VID: "V01008"}) {
		t.Errorf("%+v, %v", found, err)
	}
	foreign := &memtape.Tape{}
	if err := foreign.WriteBlock(t.Context(), []byte("tar")); err != nil {
		t.Fatal(err)
	}
	if err := volume.Format(t.Context(), foreign, volume.Label{VID: vid}, writer()); !errors.Is(err, errs.NotEmpty) {
		t.Errorf("a foreign tape: %v, want NotEmpty", err)
	}
}

func TestAnotherFileIsNotReadForTheOneThatIsAsked(t *testing.T) {
	_, v := labelled(t)
	a := appendTo(t, v, volume.Last{})
	w := put(t, a, 7, 1000, 1000)
	for _, p := range []volume.Place{{FSeq: 1, Block: 0, ArchiveID: 8}, {FSeq: 2, Block: 0, ArchiveID: 7}, {FSeq: 1, Block: 2, ArchiveID: 7}, {FSeq: 1, Block: 500}} {
		if _, err := v.OpenFile(t.Context(), p); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%+v: %v, want Corrupt", p, err)
		}
	}
	check(t, v, w)
}

func TestTheEarlyWarningLetsAFileEnd(t *testing.T) {
	m, v := labelled(t)
	m.WarnAt = 20
	a := appendTo(t, v, volume.Last{})
	first := put(t, a, 1, 1000, 1000)
	if a.Full() {
		t.Error("full too early")
	}
	second := put(t, a, 2, 20*volume.BlockSize, 1<<20)
	if !a.Full() {
		t.Error("the early warning was lost")
	}
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	check(t, v, first, second)
}

func TestNothingIsWrittenAfterAnError(t *testing.T) {
	m, v := labelled(t)
	m.BadWrite = map[uint64]bool{30: true}
	a := appendTo(t, v, volume.Last{})
	first := put(t, a, 1, 1000, 1000)
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := a.Begin(t.Context(), 2); err != nil {
		t.Fatal(err)
	}
	if err := a.Write(t.Context(), content(2, 40*volume.BlockSize)); !errors.Is(err, device.ErrMedium) || !errors.Is(err, errs.IO) {
		t.Errorf("%v, want an error of the medium", err)
	}
	if err := a.Flush(t.Context()); err == nil {
		t.Error("a flush after an error")
	}
	if err := a.Begin(t.Context(), 3); err == nil {
		t.Error("a file after an error")
	}
	check(t, v, first)
}

func TestMisuseIsRefused(t *testing.T) {
	_, v := labelled(t)
	a := appendTo(t, v, volume.Last{})
	if err := a.Write(t.Context(), []byte("x")); !errors.Is(err, errs.Invalid) {
		t.Errorf("a write without a file: %v", err)
	}
	if err := a.Begin(t.Context(), 1); err != nil {
		t.Fatal(err)
	}
	if err := a.Begin(t.Context(), 2); !errors.Is(err, errs.Invalid) {
		t.Errorf("a file within a file: %v", err)
	}
	if err := a.Flush(t.Context()); !errors.Is(err, errs.Invalid) {
		t.Errorf("a flush within a file: %v", err)
	}
	if _, err := a.End(t.Context()); !errors.Is(err, errs.Invalid) {
		t.Errorf("a file without data: %v", err)
	}
}
