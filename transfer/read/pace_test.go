package read

import (
	"testing"
	"time"
)

func TestPatience(t *testing.T) {
	var p pace
	if got := p.Patience(); got != time.Second {
		t.Errorf("before the first read %v", got)
	}
	for _, c := range []struct{ read, least, most time.Duration }{
		{time.Millisecond, 200 * time.Millisecond, 200 * time.Millisecond},
		{100 * time.Millisecond, 700 * time.Millisecond, 800 * time.Millisecond},
		{time.Minute, 3 * time.Second, 3 * time.Second},
		{50 * time.Millisecond, 400 * time.Millisecond, 500 * time.Millisecond},
	} {
		for range 200 {
			p.Took(c.read)
		}
		if got := p.Patience(); got < c.least || got > c.most {
			t.Errorf("after reads of %v: %v, want %v to %v", c.read, got, c.least, c.most)
		}
	}
}
