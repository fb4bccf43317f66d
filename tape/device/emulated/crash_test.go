package emulated

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"hemera/tape/device"
	"hemera/words/errs"
)

// numbered returns the block of a crash test: it repeats its own number.
func numbered(n int) []byte {
	return bytes.Repeat(binary.LittleEndian.AppendUint64(nil, uint64(n)), 500+n%100)
}

// TestMain lets a test start this program again as the process that is killed.
func TestMain(m *testing.M) {
	if dir := os.Getenv("EMULATED_VICTIM"); dir != "" {
		if err := writeForEver(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
	os.Exit(m.Run())
}

// writeForEver appends numbered blocks and says after each flush how many there are.
func writeForEver(dir string) error {
	l, err := Open(dir, Options{})
	if err != nil {
		return err
	}
	ctx := l.arm.ctx
	tp, err := l.Drives()[0].Load(ctx)
	if err != nil {
		return err
	}
	if err := tp.SpaceToEnd(ctx); err != nil {
		return err
	}
	p, err := tp.Position(ctx)
	if err != nil {
		return err
	}
	for n := int(p.Object); ; n++ {
		if err := tp.WriteBlock(ctx, numbered(n)); err != nil {
			return err
		}
		if n%7 == 6 {
			if err := tp.Flush(ctx); err != nil {
				return err
			}
			fmt.Println(n + 1)
		}
	}
}

// TestKilled: a process is killed again and again while it writes. All that it flushed is there, and what is there is whole.
func TestKilled(t *testing.T) {
	dir := t.TempDir()
	if err := Create(dir, Spec{}); err != nil {
		t.Fatal(err)
	}
	l, err := Open(dir, Options{})
	if err != nil {
		t.Fatal(err)
	}
	mount(t, l)
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for round := range 6 {
		victim := exec.Command(os.Args[0])
		victim.Env = append(os.Environ(), "EMULATED_VICTIM="+dir)
		victim.Stderr = os.Stderr
		out, err := victim.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := victim.Start(); errors.Is(err, syscall.ENOEXEC) {
			t.Skip("the machine cannot start this program by itself: it runs under an emulator of another processor")
		} else if err != nil {
			t.Fatal(err)
		}
		flushed := 0
		lines := bufio.NewScanner(out)
		for i := 0; i < 5+round*3 && lines.Scan(); i++ {
			if flushed, err = strconv.Atoi(lines.Text()); err != nil {
				t.Fatal(err)
			}
		}
		victim.Process.Kill()
		for lines.Scan() { // what it said before it was killed counts too
			if n, err := strconv.Atoi(lines.Text()); err == nil {
				flushed = n
			}
		}
		victim.Wait()
		if flushed == 0 {
			t.Fatal("the process flushed nothing")
		}
		l, err := Open(dir, Options{})
		if err != nil {
			t.Fatal(err)
		}
		tp, err := l.Drives()[0].Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		checkNumbered(t, tp, flushed)
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// checkNumbered reads a tape to its end, and wants at least that many blocks.
func checkNumbered(t *testing.T, tp device.Tape, atLeast int) {
	t.Helper()
	buf := make([]byte, 8<<10)
	for i := 0; ; i++ {
		n, err := tp.ReadBlock(t.Context(), buf)
		if err == device.ErrEndOfData {
			if i < atLeast {
				t.Fatalf("%d blocks, %d were flushed", i, atLeast)
			}
			return
		}
		if err != nil || !bytes.Equal(buf[:n], numbered(i)) {
			t.Fatalf("block %d of %d flushed: %v", i, atLeast, err)
		}
	}
}

// TestPowerCut: the flushed part stays, the tape must be loaded again, and other drives lose theirs too.
func TestPowerCut(t *testing.T) {
	l := open(t, Spec{}, Options{NoSync: true})
	tp := mount(t, l)
	for n := range 30 {
		if err := tp.WriteBlock(t.Context(), numbered(n)); err != nil {
			t.Fatal(err)
		}
		if n == 19 {
			if err := tp.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	l.PowerCut()
	if err := tp.WriteBlock(t.Context(), numbered(30)); !errors.Is(err, device.ErrNotReady) {
		t.Fatal(err)
	}
	if s, err := l.Drives()[0].Status(t.Context()); err != nil || s.Ready || !s.Loaded {
		t.Fatal(s, err)
	}
	tp, err := l.Drives()[0].Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	checkNumbered(t, tp, 20)
	if p, err := tp.Position(t.Context()); err != nil || p.Object != 20 {
		t.Fatal(p, err)
	}
}

// TestDamage: what stands behind a damaged record is not on tape; a block with a flipped bit cannot be read, and the next one can.
func TestDamage(t *testing.T) {
	for _, test := range []struct {
		name   string
		file   string
		offset int64
		want   int // objects that are left
		bad    int // the object that cannot be read, -1 for none
	}{
		{"record", ".index", 5*recordSize + 20, 5, -1},
		{"first record", ".index", 0, 0, -1},
		{"last record", ".index", 10*recordSize - 1, 9, -1},
		{"block", ".data", 4500, 10, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			if err := Create(dir, Spec{}); err != nil {
				t.Fatal(err)
			}
			l, err := Open(dir, Options{NoSync: true})
			if err != nil {
				t.Fatal(err)
			}
			tp := mount(t, l)
			for n := range 10 {
				if err := tp.WriteBlock(t.Context(), numbered(n)); err != nil {
					t.Fatal(err)
				}
			}
			if err := l.Close(); err != nil {
				t.Fatal(err)
			}
			flip(t, filepath.Join(dir, cartridgesName, "V00001L9"+test.file), test.offset)
			if l, err = Open(dir, Options{}); err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			if tp, err = l.Drives()[0].Load(t.Context()); err != nil {
				t.Fatal(err)
			}
			for i := range test.want {
				buf := make([]byte, 8<<10)
				n, err := tp.ReadBlock(t.Context(), buf)
				if i == test.bad {
					if !errors.Is(err, device.ErrMedium) || errs.KindOf(err) != errs.IO {
						t.Fatal(i, err)
					}
				} else if err != nil || !bytes.Equal(buf[:n], numbered(i)) {
					t.Fatal(i, err)
				}
			}
			// The end can be written on.
			if _, err := tp.ReadBlock(t.Context(), make([]byte, 80)); err != device.ErrEndOfData {
				t.Fatal(err)
			}
			if err := tp.WriteBlock(t.Context(), numbered(test.want)); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// flip changes one bit of a file.
func flip(t *testing.T, name string, offset int64) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	b[offset] ^= 4
	if err := os.WriteFile(name, b, 0o640); err != nil {
		t.Fatal(err)
	}
}

// FuzzIndex: whatever an index file holds, the records that count are good ones that follow each other, and reading does not fail.
func FuzzIndex(f *testing.F) {
	var good []byte
	last := record{}
	for i := range uint64(4) {
		r := last.next()
		r.kind = kindMark
		if i%2 == 0 {
			r.kind, r.length, r.stored = kindBlock, 80, 80
		}
		good, last = r.encode(good, i), r
	}
	f.Add(good, int64(160))
	f.Add(good[:100], int64(160))
	f.Add(good, int64(100))
	f.Add(good, int64(-2))
	f.Add([]byte("no index"), int64(0))
	f.Fuzz(func(t *testing.T, index []byte, data int64) {
		count, last, err := countRecords(bytes.NewReader(index), data)
		if err != nil || count > uint64(len(index)/recordSize) {
			t.Fatal(count, err)
		}
		before := record{}
		for i := range count {
			r, ok := decode(index[i*recordSize:], i)
			if !ok || !r.follows(before) || int64(r.data)+int64(r.stored) > max(data, 0) && r.stored > 0 {
				t.Fatal(i, r)
			}
			before = r
		}
		if before != last {
			t.Fatal(before, last)
		}
		if count > 0 && !bytes.Equal(last.encode(nil, count-1), index[(count-1)*recordSize:count*recordSize]) {
			t.Fatal("a record is not what it was made of")
		}
	})
}
