package xrootd

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"hemera/rules/wire"
	"hemera/words/errs"
)

func received(p []byte) *receiver { return &receiver{Reader: bufio.NewReader(bytes.NewReader(p))} }

// TestAnAnswerThatIsLongerThanWasAskedIsRefused: in whatever frames it comes, nothing behind the caller's memory is written.
func TestAnAnswerThatIsLongerThanWasAskedIsRefused(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		frames []int
		good   bool
	}{{[]int{10}, true}, {[]int{4, 6}, true}, {[]int{4, 0, 5}, true}, {[]int{11}, false}, {[]int{4, 7}, false}, {[]int{10, 1}, false}} {
		memory := make([]byte, 20)
		s := &dataSink{p: memory[:10]}
		r := received(bytes.Repeat([]byte{7}, 30))
		var err error
		for _, n := range c.frames {
			if err == nil {
				err = s.take(r, frame{n: n})
			}
		}
		if (err == nil) != c.good || err != nil && errs.KindOf(err) != errs.Corrupt || bytes.ContainsRune(memory[10:], 7) {
			t.Errorf("%v: %v, %v", c.frames, err, memory)
		}
	}
}

// TestAVectorIsCutIntoWhatServersTake: in its order, each part as long as it may be, and as many in a request as there may be.
func TestAVectorIsCutIntoWhatServersTake(t *testing.T) {
	t.Parallel()
	big := make([]byte, 3*wire.ReadvElementMax)
	rapid.Check(t, func(r *rapid.T) {
		var ranges []Range
		for range rapid.SampledFrom([]int{0, 1, 5, wire.VectorMax - 1, wire.VectorMax, wire.VectorMax + 1}).Draw(r, "ranges") {
			n := rapid.SampledFrom([]int{0, 1, wire.ReadvElementMax, wire.ReadvElementMax + 1, 2*wire.ReadvElementMax + 5}).Draw(r, "length")
			if len(ranges) > 8 {
				n = min(n, 1)
			}
			ranges = append(ranges, Range{int64(rapid.IntRange(0, 1000).Draw(r, "offset")), big[:n]})
		}
		var want, got []string // every byte's place, once for each element's end
		for _, one := range ranges {
			for at := 0; at < len(one.P); at += wire.ReadvElementMax {
				want = append(want, fmt.Sprint(one.Off+int64(at), " ", min(wire.ReadvElementMax, len(one.P)-at)))
			}
		}
		for i, batch := range cutVector(ranges) {
			if len(batch) == 0 || len(batch) > wire.VectorMax || i < len(cutVector(ranges))-1 && len(batch) < wire.VectorMax {
				r.Fatalf("request %d has %d elements", i, len(batch))
			}
			for _, one := range batch {
				got = append(got, fmt.Sprint(one.Off, " ", len(one.P)))
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			r.Fatalf("%v, want %v", got, want)
		}
	})
}

// vectorAnswer returns the answer of a server to ranges, with one byte for all of their content.
func vectorAnswer(content byte, ranges ...Range) (b []byte) {
	for _, r := range ranges {
		b = wire.Segment{Length: int32(len(r.P)), Offset: r.Off}.Append(b)
		b = append(b, bytes.Repeat([]byte{content}, len(r.P))...)
	}
	return b
}

// TestAVectorAnswerIsOfWhatWasAsked: each element says where it is from, and one that is from elsewhere, or is not whole, is refused before it is
// anywhere in memory.
func TestAVectorAnswerIsOfWhatWasAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer []byte
		good   bool
	}{
		"as asked":             {vectorAnswer(7, Range{5, make([]byte, 3)}, Range{100, make([]byte, 4)}), true},
		"the first one alone":  {vectorAnswer(7, Range{5, make([]byte, 3)}), true},
		"another offset":       {vectorAnswer(7, Range{6, make([]byte, 3)}), false},
		"another length":       {vectorAnswer(7, Range{5, make([]byte, 2)}), false},
		"in another order":     {vectorAnswer(7, Range{100, make([]byte, 4)}, Range{5, make([]byte, 3)}), false},
		"one too many":         {vectorAnswer(7, Range{5, make([]byte, 3)}, Range{100, make([]byte, 4)}, Range{5, make([]byte, 3)}), false},
		"cut in an element":    {vectorAnswer(7, Range{5, make([]byte, 3)}, Range{100, make([]byte, 4)})[:2*wire.SegmentSize+3+2], false},
		"cut in a header":      {vectorAnswer(7, Range{5, make([]byte, 3)}, Range{100, make([]byte, 4)})[:wire.SegmentSize+3+2], false},
		"a byte too many":      {append(vectorAnswer(7, Range{5, make([]byte, 3)}, Range{100, make([]byte, 4)}), 1), false},
		"a length that wraps":  {wire.Segment{Length: -1, Offset: 5}.Append(nil), false},
		"nothing in the frame": {nil, true},
	} {
		memory := make([]byte, 20)
		s := &vectorSink{ranges: []Range{{5, memory[0:3]}, {100, memory[10:14]}}}
		err := s.take(received(append(c.answer, make([]byte, 50)...)), frame{n: len(c.answer)})
		if (err == nil) != c.good || err != nil && errs.KindOf(err) != errs.Corrupt || bytes.ContainsRune(memory[3:10], 7) || bytes.ContainsRune(memory[14:], 7) {
			t.Errorf("%s: %v, %v", name, err, memory)
		}
	}
}

// FuzzVectorAnswers: whatever a server sends, only the memory of the ranges is written, and an answer that is taken is what the slow decoder finds.
func FuzzVectorAnswers(f *testing.F) {
	f.Add(vectorAnswer(7, Range{5, make([]byte, 3)}, Range{100, make([]byte, 4)}))
	f.Add(vectorAnswer(7, Range{5, make([]byte, 3)}))
	f.Fuzz(func(t *testing.T, answer []byte) {
		memory := make([]byte, 20)
		s := &vectorSink{ranges: []Range{{5, memory[0:3]}, {100, memory[10:14]}}}
		if err := s.take(received(answer), frame{n: len(answer)}); err != nil {
			return
		}
		want := make([]byte, 20)
		rest := answer
		for i, r := range []Range{{5, want[0:3]}, {100, want[10:14]}} {
			if len(rest) == 0 {
				break
			}
			g := wire.ParseSegment(rest)
			if g.Offset != r.Off || int(g.Length) != len(r.P) {
				t.Errorf("element %d is %+v", i, g)
			}
			rest = rest[wire.SegmentSize:]
			rest = rest[copy(r.P, rest):]
		}
		if len(rest) > 0 || !bytes.Equal(memory, want) {
			t.Errorf("%v, want %v, %d bytes are left", memory, want, len(rest))
		}
	})
}

// TestAPageOfAnotherPlaceIsRefused: frames come in the order of the file, and with page checksums.
func TestAPageOfAnotherPlaceIsRefused(t *testing.T) {
	t.Parallel()
	for _, f := range []frame{{n: 10, offset: 4097, paged: true}, {n: 10, offset: 0, paged: true}, {n: 10, offset: 4096}} {
		s := &pageSink{p: make([]byte, 100), off: 4096}
		if err := s.take(received(make([]byte, 100)), f); errs.KindOf(err) != errs.Corrupt || s.got != 0 {
			t.Errorf("%+v: %v, %d bytes taken", f, err, s.got)
		}
	}
}

// TestSixteenRedirectsAndNoMore, and each says as whom the session goes on.
func TestSixteenRedirectsAndNoMore(t *testing.T) {
	t.Parallel()
	r := newRoute(URL{Endpoint: Endpoint{User: "me", Host: "manager", Port: 1}, Path: "/f"})
	var err error
	for i := range 16 {
		if r, err = r.redirected(redirection{to: at(fmt.Sprint("node", i))}); err != nil || r.url.User != "me" {
			t.Fatalf("redirect %d: %+v, %v", i+1, r.url, err)
		}
	}
	if _, err := r.redirected(redirection{to: at("one more")}); !errors.Is(err, errs.Unavailable) {
		t.Errorf("one more: %v", err)
	}
	other, err := newRoute(r.url).redirected(redirection{to: Endpoint{User: "other", Host: "node", Port: 1}})
	if err != nil || other.url.User != "other" {
		t.Errorf("%+v, %v", other.url, err)
	}
}

// TestOnlyWhatAnotherServerMayHaveIsAskedElsewhere: faults and missing pieces of one server, and not what all servers say alike.
func TestOnlyWhatAnotherServerMayHaveIsAskedElsewhere(t *testing.T) {
	t.Parallel()
	want := map[errs.Kind]string{errs.NotFound: "enoent", errs.IO: "ioerr", errs.Corrupt: "ioerr", errs.ReadOnly: "fserr", errs.Unavailable: "srverr", errs.Timeout: "srverr", errs.Overloaded: "srverr",
		errs.Internal: "srverr", errs.Fenced: "srverr"}
	for kind := errs.Kind(0); kind < 60; kind++ {
		if got := failoverReason(kind); got != want[kind] {
			t.Errorf("%v: %q, want %q", kind, got, want[kind])
		}
	}
}

// TestALossIsRepeatedWhereThatIsHarmless: never what may have been done, always what was not sent, and for as long as the caller allows.
func TestALossIsRepeatedWhereThatIsHarmless(t *testing.T) {
	t.Parallel()
	r := newRoute(URL{Endpoint: at("node"), Path: "/f"})
	for _, repeatable := range []bool{false, true} {
		for _, sent := range []bool{false, true} {
			p := policy{op: "test", repeatable: repeatable, retryFor: 1e9}
			d := p.decide(r, answer{err: lost(at("node"), sent, errors.New("cut"))}, attempts{})
			if want := !sent || repeatable; d.stop == want || d.retry != want {
				t.Errorf("sent %t, repeatable %t: %+v", sent, repeatable, d)
			}
			if d := p.decide(r, answer{err: lost(at("node"), sent, errors.New("cut"))}, attempts{failing: 1e9 - 1}); !d.stop {
				t.Errorf("sent %t, repeatable %t: tried again after the time is over", sent, repeatable)
			}
		}
	}
	if d := (policy{op: "test", repeatable: true, retryFor: 1e9}).decide(r, answer{err: errs.New(errs.Denied, "test", "", "not permitted")}, attempts{}); !d.stop {
		t.Error("what is no loss is tried again")
	}
}

// TestAnOpenThatGoesOnMakesNothing: the first one makes or empties the file, and with its options; later ones open what is there.
func TestAnOpenThatGoesOnMakesNothing(t *testing.T) {
	t.Parallel()
	all := OpenOptions{Write: true, Create: true, Parents: true, Persist: true, Force: true}
	exclusive := all
	exclusive.Exclusive = true
	const options = wire.OpenMkpath | wire.OpenPosc | wire.OpenForce
	for _, c := range []struct {
		o     OpenOptions
		again bool
		want  uint16
	}{
		{OpenOptions{}, false, wire.OpenRead},
		{OpenOptions{}, true, wire.OpenRead},
		{OpenOptions{Write: true}, false, wire.OpenUpdate},
		{all, false, wire.OpenUpdate | wire.OpenDelete | options},
		{exclusive, false, wire.OpenUpdate | wire.OpenNew | options},
		{all, true, wire.OpenUpdate},
		{exclusive, true, wire.OpenUpdate},
	} {
		if got := c.o.flags(c.again); got != c.want|wire.OpenRetStat {
			t.Errorf("%+v, again %t: %x, want %x", c.o, c.again, got, c.want|wire.OpenRetStat)
		}
	}
}
