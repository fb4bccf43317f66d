package pebblekv

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/pebble/v2"
	"github.com/cockroachdb/pebble/v2/record"
	"github.com/cockroachdb/pebble/v2/vfs"

	"hemera/platform/turn"
	"hemera/words/errs"
)

// disk is the file of a log: what was synced, and what was written since. Pebble's writer appends to it.
type disk struct {
	synced, written []byte
	end             int
	broken          bool // no sync reaches it any more
}

func (d *disk) Write(p []byte) (int, error) {
	d.end += copy(d.written[d.end:], p)
	return len(p), nil
}

func (d *disk) Sync() error {
	if !d.broken {
		d.synced = bytes.Clone(d.written)
	}
	return nil
}

// cut returns the file after a power cut: any of the sectors written since the sync, of one write or of many.
func (d *disk) cut(r *rand.Rand) []byte {
	const sector = 512
	left, percent := bytes.Clone(d.synced), r.IntN(101)
	for at := 0; at < len(left); at += sector {
		if r.IntN(100) < percent {
			copy(left[at:min(at+sector, len(left))], d.written[at:])
		}
	}
	return left
}

// life is one log that Pebble's own writer writes in groups of batches, each synced before the next.
type life struct {
	d       *disk
	log     *record.LogWriter
	m       mark
	db      *pebble.DB
	number  uint64 // of the last batch
	durable uint64 // of the last that was synced
	start   int    // of the last group in the file
}

// group writes some batches and syncs them.
func (l *life) group(t *testing.T, r *rand.Rand) {
	t.Helper()
	l.durable, l.start = l.number, l.d.end
	var done sync.WaitGroup
	var failed error
	for left := 1 + r.IntN(6); left > 0; left-- {
		l.number++
		b := l.db.NewBatch()
		err := errors.Join(
			b.Set(fmt.Appendf(nil, "%06d", l.number), bytes.Repeat([]byte{byte(l.number)}, 1+r.IntN(800)), nil),
			b.LogData(token{l.number, l.durable}.encode(l.m), nil))
		if err == nil && left > 1 {
			_, err = l.log.WriteRecord(stamped(b, l.number))
		} else if err == nil {
			done.Add(1)
			_, err = l.log.SyncRecord(stamped(b, l.number), &done, &failed)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	done.Wait()
	if failed != nil {
		t.Fatal(failed)
	}
}

// newLogWriter calls NewLogWriter of package record, whose type of a number is internal to Pebble.
func newLogWriter[N ~uint64](make func(io.Writer, N, record.LogWriterConfig) *record.LogWriter, d *disk, number uint64) *record.LogWriter {
	return make(d, N(number), record.LogWriterConfig{WriteWALSyncOffsets: func() bool { return true }})
}

// stamped returns a batch with the number that Pebble would give it.
func stamped(b *pebble.Batch, number uint64) []byte {
	raw := bytes.Clone(b.Repr())
	raw[0], raw[1] = byte(number), byte(number>>8)
	return raw
}

// audited returns what the audit says about a file, and how many batches it can read.
func audited(t *testing.T, file []byte, m mark, log, after uint64) (uint64, error) {
	t.Helper()
	mem := vfs.NewMem()
	state := &logState{fs: mem, dir: "db/journal", turn: turn.New(), mark: m, needed: []neededLog{{log, after}}}
	err := mem.MkdirAll("db/journal", 0o755)
	if err == nil {
		var f vfs.File
		if f, err = mem.Create(state.path(log), vfs.WriteCategoryUnspecified); err == nil {
			_, err = f.Write(file)
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	a := &audit{fs: &logFS{FS: mem, dir: "db", logs: "db/journal", state: state}, state: state}
	_, err = a.run()
	return a.read, err
}

// TestTornSectors: the end of a log that a power cut tore anywhere, in a new file or in one that was used before, is not
// taken for damage, and all is there that was durable. With a sector of an earlier group lost, the damage is noticed.
func TestTornSectors(t *testing.T) {
	db, err := pebble.Open("x", &pebble.Options{FS: vfs.NewMem(), Logger: logger{slog.New(slog.DiscardHandler)}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	m := mark{3, 1, 4, 1, 5, 9, 2, 6}
	noticed := 0
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 9))
		l := &life{d: &disk{synced: make([]byte, 128<<10), written: make([]byte, 128<<10)}, m: m, db: db}
		lives := 1 + r.IntN(3)
		var after, log uint64
		for i := range lives { // each overwrites the file from its beginning on
			after, log, l.d.end = l.number, uint64(7+i), 0
			l.log = newLogWriter(record.NewLogWriter, l.d, log)
			groups := 1 + r.IntN(12)
			for g := range groups {
				if i == lives-1 && g == groups-1 {
					l.d.broken = r.IntN(8) > 0
				}
				l.group(t, r)
			}
			if i < lives-1 {
				if err := l.log.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
		if read, err := audited(t, l.d.cut(r), m, log, after); err != nil || read < l.durable {
			t.Errorf("seed %d: %d batches, %d were durable; %v", seed, read, l.durable, err)
		}
		if l.start > 0 {
			damaged := bytes.Clone(l.d.written)
			at := r.IntN(l.start)
			clear(damaged[at:min(at+512, l.start)])
			read, err := audited(t, damaged, m, log, after)
			if read < l.durable && !errors.Is(err, errs.Corrupt) {
				t.Errorf("seed %d: of %d durable batches %d are there, and nobody knows", seed, l.durable, read)
			} else if err != nil {
				noticed++
			}
		}
		_ = l.log.Close()
	}
	if noticed < 30 {
		t.Errorf("%d times damage was noticed", noticed)
	}
}

// TestNotes: the log says that its last batch is durable when nothing came behind it for a while, once, and not before.
func TestNotes(t *testing.T) {
	const after = 250 * time.Millisecond // more than a busy machine pauses between two batches
	mem := vfs.NewMem()
	s, err := Open("db", Options{PebbleScheduler: *PebbleScheduler, FS: mem, noteAfter: after})
	if err != nil {
		t.Fatal(err)
	}
	w, err := s.Acquire(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	// notes counts the tokens that say that their own batch is durable.
	notes := func() (count int, last uint64) {
		var number uint64
		_ = s.logs.state.change(func() error { // a flush may change the list at the same time
			number = s.logs.state.needed[len(s.logs.state.needed)-1].number
			return nil
		})
		raw, err := (&audit{fs: s.logs, state: s.logs.state}).content(number)
		if err != nil {
			t.Fatal(err)
		}
		tokens(raw, s.logs.state.mark, func(t token) {
			if t.durable == t.number {
				count++
			}
			last = max(last, t.durable)
		})
		return count, last
	}
	if n, _ := notes(); n != 0 {
		t.Errorf("%d notes of no batch", n)
	}
	for round := 1; round < 3; round++ {
		for i := range 3 {
			if _, err := commit(t, w, 10*round+i, 10*round+i+1); err != nil {
				t.Fatal(err)
			}
		}
		deadline := time.Now().Add(10 * time.Second)
		for n, _ := notes(); n < round && time.Now().Before(deadline); n, _ = notes() {
			time.Sleep(after / 25)
		}
		time.Sleep(2 * after)
		if n, last := notes(); n != round || last != uint64(3*round) {
			t.Errorf("%d notes after %d rounds, %d batches are known to be durable", n, round, last)
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// FuzzTokens: no bytes make the search fail, and a token is found behind anything but its own mark.
func FuzzTokens(f *testing.F) {
	m := mark{1, 2, 1, 2, 1, 2, 1, 3}
	f.Add([]byte("behind"))
	f.Add(m[:])
	f.Add(token{2, 1}.encode(m)[:20])
	f.Fuzz(func(t *testing.T, before []byte) {
		want := token{1 << 40, 77}
		found := 0
		tokens(append(bytes.Clone(before), want.encode(m)...), m, func(got token) {
			if got == want {
				found++
			}
		})
		if found == 0 {
			t.Errorf("not found behind %x", before)
		}
	})
}

// FuzzLogState: no text of a state file makes its reader fail in any other way than with an error.
func FuzzLogState(f *testing.F) {
	mem := vfs.NewMem()
	s := &logState{fs: mem, dir: "", turn: turn.New()}
	_ = s.none()
	f.Add(stateFormat + "mark 0011223344556677\nlog 3 after 9\ncrc32c 00000000\n")
	f.Add("hemlog4\n")
	f.Fuzz(func(t *testing.T, text string) {
		got := &logState{fs: mem, dir: ""}
		if err := got.parse(text); err != nil && errs.RemedyOf(err) == "" {
			t.Errorf("%v has no remedy", err)
		}
	})
}
