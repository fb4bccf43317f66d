package tapetest

import (
	"context"
	"math/rand/v2"
	"testing"

	"hemera/tape/device"
)

// testBlank: a blank tape ends where it begins.
func testBlank(t *testing.T, l Library) {
	tp := l.mount(t)
	at(t, tp, 0)
	ends(t, tp)
	at(t, tp, 0)
	// The end of data of a blank tape is its beginning.
	must(t, tp.SpaceToEnd(ctx(t)))
	at(t, tp, 0)
}

// testObjects: blocks and filemarks are objects, numbered from 0.
func testObjects(t *testing.T, l Library) {
	tp := l.mount(t)
	// Labels of 80 bytes and blocks of 256 KiB are what CTA writes;
	// two filemarks in a row are an empty file.
	all := []object{block(1, 80), block(2, 80), nil, block(3, 262144), block(4, 1), nil, nil, block(5, 4096)}
	for i, o := range all {
		at(t, tp, uint64(i))
		write(t, tp, o)
	}
	at(t, tp, uint64(len(all)))
	holds(t, tp, all...)
}

// testSizes: blocks have 1 byte to BlockMax.
func testSizes(t *testing.T, l Library) {
	tp := l.mount(t)
	// Both are mistakes of the caller, and must not reach the tape.
	for _, size := range []int{0, device.BlockMax + 1} {
		if err := tp.WriteBlock(ctx(t), make([]byte, size)); err == nil {
			t.Errorf("a block of %d bytes was written", size)
		}
	}
	at(t, tp, 0)
	// Odd sizes find drivers that round, or that expect fixed
	// blocks.
	all := []object{block(1, 1), block(2, device.BlockMax), block(3, 511), block(4, 65537)}
	write(t, tp, all...)
	holds(t, tp, all...)
}

// testTooBig: the tape stands behind a block that did not fit.
func testTooBig(t *testing.T, l Library) {
	tp := l.mount(t)
	write(t, tp, block(1, 1000), block(2, 80), nil)
	must(t, tp.Locate(ctx(t), 0))
	// One byte is missing: nothing of the block may be taken for all
	// of it.
	_, err := tp.ReadBlock(ctx(t), make([]byte, 999))
	wants(t, "reading 1000 bytes into 999", err, device.ErrBlockTooBig)
	at(t, tp, 1)
	reads(t, tp, block(2, 80), nil)
}

// spaced writes three files of 2, 0 and 1 blocks: objects 0 1 M2
// M3 4 M5 6.
func spaced(t *testing.T, tp device.Tape) {
	t.Helper()
	write(t, tp, block(1, 80), block(2, 80), nil, nil, block(3, 80), nil, block(4, 80))
}

// testSpace: ahead is behind the filemark, back is before it.
func testSpace(t *testing.T, l Library) {
	tp := l.mount(t)
	spaced(t, tp)
	// From within a file, from a filemark and from the end of data.
	for _, step := range []struct {
		from  uint64
		space int
		want  uint64
	}{{0, 1, 3}, {1, 1, 3}, {2, 1, 3}, {3, 1, 4}, {0, 2, 4}, {0, 3, 6}, {7, -1, 5}, {6, -1, 5}, {5, -1, 3}, {7, -3, 2}, {4, -2, 2}, {4, 0, 4}} {
		must(t, tp.Locate(ctx(t), step.from))
		if err := tp.Space(ctx(t), step.space); err != nil {
			t.Fatalf("%d filemarks from object %d: %v", step.space, step.from, err)
		}
		at(t, tp, step.want)
	}
	// What follows a space is what is read.
	must(t, tp.Locate(ctx(t), 0))
	must(t, tp.Space(ctx(t), 2))
	reads(t, tp, block(3, 80))
	must(t, tp.Space(ctx(t), -1))
	reads(t, tp, nil, block(3, 80))
}

// testSpaceTooFar: the tape then stands at its end, or at its
// beginning.
func testSpaceTooFar(t *testing.T, l Library) {
	tp := l.mount(t)
	spaced(t, tp)
	must(t, tp.Locate(ctx(t), 1))
	// Ahead is the end of data.
	wants(t, "four filemarks ahead of three", tp.Space(ctx(t), 4), device.ErrEndOfData)
	at(t, tp, 7)
	// Back there is no error of its own: any will do.
	if err := tp.Space(ctx(t), -4); err == nil {
		t.Fatal("four filemarks back of three")
	}
	at(t, tp, 0)
}

// testLocate: any object and the end of data can be reached, and
// nothing behind it.
func testLocate(t *testing.T, l Library) {
	tp := l.mount(t)
	spaced(t, tp)
	// Ahead, back, to where it stands already, and to the end of
	// data.
	for _, object := range []uint64{6, 0, 3, 3, 7, 1} {
		must(t, tp.Locate(ctx(t), object))
		at(t, tp, object)
	}
	wants(t, "a locate behind the end", tp.Locate(ctx(t), 8), device.ErrEndOfData)
	at(t, tp, 7)
	must(t, tp.Locate(ctx(t), 4))
	reads(t, tp, block(3, 80), nil, block(4, 80))
	ends(t, tp)
}

// testTruncation: writing an object, a block or a filemark,
// removes all behind it.
func testTruncation(t *testing.T, l Library) {
	tp := l.mount(t)
	spaced(t, tp)
	must(t, tp.Flush(ctx(t)))
	// In the middle, where the old data is on tape already.
	must(t, tp.Locate(ctx(t), 4))
	write(t, tp, block(9, 100))
	at(t, tp, 5)
	ends(t, tp)
	holds(t, tp, block(1, 80), block(2, 80), nil, nil, block(9, 100))
	// A filemark removes what follows just as a block does.
	must(t, tp.Locate(ctx(t), 1))
	write(t, tp, nil)
	holds(t, tp, block(1, 80), nil)
	// A tape that is labelled again begins a new life.
	must(t, tp.Locate(ctx(t), 0))
	write(t, tp, block(10, 70))
	holds(t, tp, block(10, 70))
}

// testAppend: writing goes on at the end of data.
func testAppend(t *testing.T, l Library) {
	tp := l.mount(t)
	write(t, tp, block(1, 80), nil)
	must(t, tp.Locate(ctx(t), 0))
	// To the end in one step, as a writer that has no position does.
	must(t, tp.SpaceToEnd(ctx(t)))
	at(t, tp, 2)
	write(t, tp, block(2, 80), nil)
	// Behind the last filemark a file goes on.
	must(t, tp.Locate(ctx(t), 0))
	must(t, tp.Space(ctx(t), 2))
	write(t, tp, block(3, 80))
	holds(t, tp, block(1, 80), nil, block(2, 80), nil, block(3, 80))
}

// testFlush: what was flushed is there after an unload and a
// load, and so is what was only buffered, since an unload
// flushes.
func testFlush(t *testing.T, l Library) {
	tp := l.mount(t)
	write(t, tp, block(1, 80), nil)
	must(t, tp.Flush(ctx(t)))
	must(t, tp.Flush(ctx(t))) // with nothing to do
	// No filemark, but a flush: that is how st asks for one.
	must(t, tp.WriteMarks(ctx(t), 0, false))
	at(t, tp, 2)
	// Not flushed: the unload has to.
	write(t, tp, block(2, 262144))
	must(t, l.Drive.Unload(ctx(t)))
	tp = l.load(t)
	at(t, tp, 0)
	holds(t, tp, block(1, 80), nil, block(2, 262144))
}

// testBuffered: after a flush nothing is buffered.
func testBuffered(t *testing.T, l Library) {
	tp := l.mount(t)
	write(t, tp, block(1, 80), nil)
	p, err := tp.Position(ctx(t))
	must(t, err)
	// How much is buffered at a moment is up to the drive.
	if p.Buffered > 2 {
		t.Fatalf("%d of 2 objects are buffered", p.Buffered)
	}
	// Both ways of a flush end with everything on tape.
	for _, flush := range []func() error{
		func() error { return tp.Flush(ctx(t)) }, func() error { return tp.WriteMarks(ctx(t), 2, false) },
	} {
		write(t, tp, block(2, 80))
		must(t, flush())
		if p, err = tp.Position(ctx(t)); err != nil || p.Buffered != 0 {
			t.Fatalf("%d objects are buffered after a flush, %v", p.Buffered, err)
		}
	}
	at(t, tp, 6)
}

// testRandom compares the tape with a list, over random
// operations.
func testRandom(t *testing.T, l Library) {
	tp := l.mount(t)
	// A fixed seed: a failure comes again.
	r := rand.New(rand.NewPCG(7, 9))
	var all []object
	here := 0
	for step := range 600 {
		switch r.IntN(8) {
		case 0, 1, 2:
			o := block(step, 1+r.IntN(3000))
			write(t, tp, o)
			// A write removes what follows, in the list as on tape.
			all, here = append(all[:here:here], o), here+1
		case 3:
			write(t, tp, nil)
			all, here = append(all[:here:here], nil), here+1
		case 4:
			// Mostly near the end, so that the tape grows.
			here = max(0, len(all)-r.IntN(1+r.IntN(len(all)+1)))
			must(t, tp.Locate(ctx(t), uint64(here)))
		case 5:
			must(t, tp.SpaceToEnd(ctx(t)))
			here = len(all)
		case 6:
			must(t, tp.Flush(ctx(t)))
		case 7:
			if here == len(all) {
				ends(t, tp)
			} else {
				reads(t, tp, all[here])
				here++
			}
		}
		at(t, tp, uint64(here))
	}
	holds(t, tp, all...)
}

// testCancelled: a context that has ended does not leave the tape
// in between.
func testCancelled(t *testing.T, l Library) {
	tp := l.mount(t)
	write(t, tp, block(1, 80), nil, block(2, 80))
	over, cancel := context.WithCancel(ctx(t))
	cancel()
	// A drive that works on a command cannot be interrupted.
	_ = tp.Locate(over, 1) // may be done or not
	p, err := tp.Position(ctx(t))
	must(t, err)
	if p.Object != 3 && p.Object != 1 {
		t.Fatalf("the tape stands at %d", p.Object)
	}
	holds(t, tp, block(1, 80), nil, block(2, 80))
}
