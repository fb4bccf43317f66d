package archive_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/platform/kv"
	"hemera/platform/kv/archive"
	"hemera/platform/kv/memkv"
	"hemera/platform/kv/pebblekv"
	"hemera/words/errs"
)

var head = archive.Header{Taken: time.Unix(1_700_000_000, 5).UTC(), Epoch: 7, Sequence: 99, Program: "hemera 1", Manager: "m:1094", Files: 3, Pairs: 12}

// put makes pairs durable in one batch.
func put(t *testing.T, w kv.Writer, pairs map[string]string) {
	t.Helper()
	var b kv.Batch
	for k, v := range pairs {
		b.Put([]byte(k), []byte(v))
	}
	ticket, err := w.Enqueue(&b)
	if err == nil {
		err = ticket.Wait(context.Background())
	}
	if err != nil {
		t.Fatal(err)
	}
}

func store(t *testing.T, pairs map[string]string) kv.Store {
	t.Helper()
	s := memkv.New()
	w, err := s.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	put(t, w, pairs)
	return s
}

// contents has everything in an archive.
type contents struct {
	head  archive.Header
	files map[string]string
	pairs map[string]string
}

func read(in io.Reader) (c contents, totals archive.Totals, err error) {
	c = contents{files: map[string]string{}, pairs: map[string]string{}}
	totals, err = archive.Read(in, archive.Visitor{
		Header:     func(h archive.Header) error { c.head = h; return nil },
		Attachment: func(name string, content []byte) error { c.files[name] = string(content); return nil },
		Pair:       func(key, value []byte) error { c.pairs[string(key)] = string(value); return nil },
	})
	return c, totals, err
}

func write(t *testing.T, s kv.Reader) ([]byte, archive.Totals) {
	t.Helper()
	var out bytes.Buffer
	totals, err := archive.Write(t.Context(), &out, s, head, archive.Attachment{Name: "key.pem", Content: []byte("secret")}, archive.Attachment{Name: "empty"})
	if err != nil {
		t.Fatal(err)
	}
	return out.Bytes(), totals
}

func TestWhatWasWrittenIsRead(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	large := map[string]string{"m": string(make([]byte, kv.ValueMax-10))}
	for i := range 2000 { // several frames, some of random bytes
		b := make([]byte, r.IntN(1500))
		for j := range b {
			b[j] = byte(r.IntN(256 >> (i % 8)))
		}
		large[fmt.Sprintf("k%05d%s", i, b[:min(len(b), 200)])] = string(b)
	}
	for name, pairs := range map[string]map[string]string{
		"nothing": {}, "one": {"a": ""}, "some": {"a": "1", "a\x00": "2", "\xff\xff": "3"}, "many": nil, "the longest key": {string(bytes.Repeat([]byte{'k'}, kv.KeyMax)): "v"},
	} {
		s := store(t, pairs)
		if name == "many" {
			w, _ := s.Acquire(t.Context(), "test")
			for k, v := range large {
				put(t, w, map[string]string{k: v})
			}
			pairs = large
		}
		data, wrote := write(t, s)
		got, totals, err := read(bytes.NewReader(data))
		want := contents{head, map[string]string{"key.pem": "secret", "empty": ""}, pairs}
		if err != nil || !reflect.DeepEqual(got, want) || totals != wrote || totals.Pairs != int64(len(pairs)) {
			t.Errorf("%s: %d pairs of %d, %+v, wrote %+v, %v", name, len(got.pairs), len(pairs), totals, wrote, err)
		}
	}
}

// TestEveryFlippedByteAndEveryCutIsRefused: only the archive itself is accepted.
func TestEveryFlippedByteAndEveryCutIsRefused(t *testing.T) {
	pairs := map[string]string{}
	for i := range 40 {
		pairs[fmt.Sprintf("key %d", i*i)] = fmt.Sprintf("value %d", i)
	}
	data, _ := write(t, store(t, pairs))
	if _, _, err := read(bytes.NewReader(data)); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		bad := bytes.Clone(data)
		bad[i] ^= 1 << (i % 8)
		_, _, err := read(bytes.NewReader(bad))
		if kind := errs.KindOf(err); kind != errs.Corrupt && kind != errs.Unsupported {
			t.Fatalf("bit %d of byte %d flipped: %v", i%8, i, err)
		}
		if _, _, err := read(bytes.NewReader(data[:i])); !errors.Is(err, errs.Corrupt) {
			t.Fatalf("cut after %d bytes: %v", i, err)
		}
	}
	for _, more := range []string{"\x00", string(data)} {
		if _, _, err := read(bytes.NewReader(append(bytes.Clone(data), more...))); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%d bytes follow: %v", len(more), err)
		}
	}
}

// TestFramesAreNotForgotten: frames are valid by themselves, but none can be left out or moved.
func TestFramesAreNotForgotten(t *testing.T) {
	s := memkv.New()
	w, _ := s.Acquire(t.Context(), "test")
	noise := rand.New(rand.NewPCG(3, 4))
	for i := range 6 {
		b := make([]byte, 600<<10)
		for j := range b {
			b[j] = byte(noise.Uint32())
		}
		put(t, w, map[string]string{fmt.Sprintf("k%d", i): string(b)})
	}
	data, _ := write(t, s)
	frames := split(data)
	if len(frames) < 6 {
		t.Fatalf("%d frames", len(frames))
	}
	for i := range frames {
		without := bytes.Join(append(append([][]byte{data[:16]}, frames[:i]...), frames[i+1:]...), nil)
		if _, _, err := read(bytes.NewReader(without)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("without frame %d: %v", i, err)
		}
		doubled := bytes.Join(append(append(append([][]byte{data[:16]}, frames[:i+1]...), frames[i]), frames[i+1:]...), nil)
		if _, _, err := read(bytes.NewReader(doubled)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("frame %d twice: %v", i, err)
		}
	}
}

// split cuts an archive into its frames, as docs/formats/backup.md describes them.
func split(data []byte) (frames [][]byte) {
	for data = data[16:]; len(data) > 0; {
		n := 14 + int(data[2])<<24 + int(data[3])<<16 + int(data[4])<<8 + int(data[5])
		frames, data = append(frames, data[:n]), data[n:]
	}
	return frames
}

func TestErrorsOfBothSidesComeBack(t *testing.T) {
	s := store(t, map[string]string{"a": "1"})
	broken := errors.New("broken")
	for good := range 4 {
		_, err := archive.Write(t.Context(), &failing{good, broken}, s, head, archive.Attachment{Name: "a"})
		if err != broken {
			t.Errorf("the disk fails at write %d: %v", good, err)
		}
	}
	data, _ := write(t, s)
	for _, v := range []archive.Visitor{
		{Header: func(archive.Header) error { return broken }},
		{Attachment: func(string, []byte) error { return broken }},
		{Pair: func(_, _ []byte) error { return broken }},
	} {
		if _, err := archive.Read(bytes.NewReader(data), v); err != broken {
			t.Errorf("the visitor's error: %v", err)
		}
	}
	if _, err := archive.Write(t.Context(), io.Discard, s, head, archive.Attachment{Name: "a", Content: make([]byte, archive.AttachmentMax+1)}); !errors.Is(err, errs.TooLarge) {
		t.Errorf("a large attachment: %v", err)
	}
	if _, _, err := read(bytes.NewReader([]byte("hemera-backup 2\nand more"))); !errors.Is(err, errs.Unsupported) {
		t.Errorf("another version: %v", err)
	}
}

type failing struct {
	good int
	err  error
}

func (f *failing) Write(b []byte) (int, error) {
	if f.good--; f.good < 0 {
		return 0, f.err
	}
	return len(b), nil
}

// TestUnderWritersIsOneMoment: each batch writes one number under many keys. An archive has a batch completely or not at
// all, and with it all batches before.
func TestUnderWritersIsOneMoment(t *testing.T) {
	s, err := pebblekv.Open("db", pebblekv.Options{FS: vfs.NewMem(), MemTableBytes: 256 << 10})
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	const width = 50
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		for i := 1; ctx.Err() == nil; i++ {
			number := fmt.Sprintf("%08d", i)
			pairs := map[string]string{"log" + number: number}
			for k := range width {
				pairs[fmt.Sprintf("all%d", k)] = number
			}
			put(t, w, pairs)
		}
	})
	for range 20 {
		picture, err := s.Snapshot(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		data, _ := write(t, picture)
		if err := picture.Close(); err != nil {
			t.Fatal(err)
		}
		got, _, err := read(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		last := got.pairs["all0"]
		for k := range width {
			if v := got.pairs[fmt.Sprintf("all%d", k)]; v != last {
				t.Fatalf("key %d is of batch %s, the first of %s", k, v, last)
			}
		}
		var count int
		_, _ = fmt.Sscanf(last, "%d", &count)
		want := count + width
		if last == "" {
			want = 0
		}
		if len(got.pairs) != want {
			t.Fatalf("%d pairs at batch %s", len(got.pairs), last)
		}
	}
	cancel()
	group.Wait()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// FuzzRead: reading any input ends, and only archives that Write could have made are accepted.
func FuzzRead(f *testing.F) {
	s := memkv.New()
	w, _ := s.Acquire(context.Background(), "test")
	var b kv.Batch
	b.Put([]byte("a"), []byte("1"))
	b.Put([]byte("b"), bytes.Repeat([]byte("x"), 3000))
	_, _ = w.Enqueue(&b)
	var out bytes.Buffer
	if _, err := archive.Write(context.Background(), &out, s, head, archive.Attachment{Name: "n", Content: []byte("c")}); err != nil {
		f.Fatal(err)
	}
	f.Add(out.Bytes())
	f.Add(out.Bytes()[:40])
	f.Add([]byte("hemera-backup 1\nh\x00\xff\xff\xff\xff\xff\xff\xff\xff0000"))
	f.Fuzz(func(t *testing.T, data []byte) {
		got, totals, err := read(bytes.NewReader(data))
		if err == nil && totals.Pairs != int64(len(got.pairs)) {
			t.Errorf("%d pairs, %+v", len(got.pairs), totals)
		}
	})
}
