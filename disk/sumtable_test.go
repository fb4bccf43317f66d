package disk

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"hemera/platform/vfs"
	"hemera/rules/checksum"
	"hemera/words/hemera"
)

// Random writes, truncations and reads of a pending piece against a slice of bytes. The table keeps
// one block in memory, so that the side file is used.
func TestPendingEqualsSlice(t *testing.T) {
	for seed := range uint64(30) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			fsys := vfs.NewMemory(0, nil)
			if err := fsys.Mkdir("/d"); err != nil {
				t.Fatal(err)
			}
			d := newDisk(t, fsys, "/d", Options{PendingBlocks: 1})
			w, err := d.Create(pieceID(1), CreateOptions{})
			if err != nil {
				t.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(seed, 2))
			twin := randomWork(t, rng, w)
			if got, want := wholeCRC(t, (*pendingSource)(w.(*writer))), checksum.CRC32C(twin); got != want {
				t.Errorf("whole CRC %08x, want %08x", got, want)
			}
			if w.Size() != int64(len(twin)) {
				t.Errorf("size %d, want %d", w.Size(), len(twin))
			}
			if _, err := w.Seal(hemera.SealInfo{FileSize: int64(len(twin))}); err != nil {
				t.Fatal(err)
			}
			r, err := d.Open(pieceID(1))
			if err != nil {
				t.Fatal(err)
			}
			checkRead(t, r, twin, 0, len(twin)+1)
			_ = r.Close()
			if names, err := fsys.ReadDir("/d/pending"); err != nil || len(names) > 0 {
				t.Errorf("left in pending: %v, %v", names, err)
			}
		})
	}
}

func randomWork(t *testing.T, rng *rand.Rand, w Writer) (twin []byte) {
	t.Helper()
	extent := []int{20_000, 9 << 20}[rng.IntN(2)] // within one table block, over three
	for range 40 {
		off := rng.IntN(extent)
		if rng.IntN(2) == 0 {
			off = len(twin) // appending is the common case
		}
		if rng.IntN(3) == 0 {
			off -= off % hemera.PageSize
		}
		n := rng.IntN(20_000)
		switch rng.IntN(8) {
		case 0:
			if err := w.Truncate(int64(off)); err != nil {
				t.Fatal(err)
			}
			twin = append(twin[:min(off, len(twin))], make([]byte, max(0, off-len(twin)))...)
		case 1:
			checkRead(t, w, twin, off, n+1)
		default:
			p := randomBytes(rng.Uint64(), n)
			if err := w.WritePages(p, nil, int64(off)); err != nil {
				t.Fatal(err)
			}
			if n > 0 {
				twin = append(twin, make([]byte, max(0, off+n-len(twin)))...)
				copy(twin[off:], p)
			}
		}
	}
	return twin
}

// The page CRCs a client sends are the ones that are kept: a wrong one is found when the page is read.
func TestClientSumsAreKept(t *testing.T) {
	d := newDisk(t, vfs.OS{}, t.TempDir(), Options{})
	data := randomBytes(1, 10_000)
	sums := make([]uint32, 3)
	checksum.PageSums(data, 0, sums)
	sums[1] ^= 1
	w, err := d.Create(pieceID(1), CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.WritePages(data, sums, 0); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, len(data))
	n, err := w.ReadPages(p, nil, 0)
	if off, ok := BadPage(err); !ok || off != 4096 || n != 4096 || !bytes.Equal(p[:n], data[:n]) {
		t.Errorf("read %d, bad page at %d, %v", n, off, err)
	}
	if err := w.WritePages(data[:1], sums[:0], 0); err == nil {
		t.Error("too few sums were taken")
	}
	_ = w.Abort()
}
