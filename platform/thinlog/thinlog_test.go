package thinlog

import (
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type lines struct {
	mu   sync.Mutex
	text []string
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text = append(l.text, string(b))
	return len(b), nil
}

func (l *lines) take() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	t := l.text
	l.text = nil
	return t
}

// Unknown clients cause few lines, with a count of the rest; other lines pass.
func TestThin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &lines{}
		log := slog.New(New(slog.NewTextHandler(out, nil))).With("server", "manager")
		for i := range 1204 {
			log.Warn("refused", "remote", fmt.Sprintf("10.0.0.1:%d", i+1))
			log.Error("a disk broke", "disk", i)
		}
		log.Warn("refused", "remote", "10.0.0.2:7")
		log.Error("a panic", "peer", "10.0.0.1:1")
		got := out.take()
		count := func(part string) (n int) {
			for _, l := range got {
				if strings.Contains(l, part) {
					n++
				}
			}
			return n
		}
		if a, b, c, d := count("10.0.0.1"), count("a disk broke"), count("10.0.0.2"), count("a panic"); a != linesMax+1 || b != 1204 || c != 1 || d != 1 {
			t.Errorf("%d lines of the loud host, %d of disks, %d of another host, %d of a panic", a, b, c, d)
		}
		time.Sleep(interval + time.Second)
		synctest.Wait()
		if got = out.take(); len(got) != 1 || !strings.Contains(got[0], "lines=1199") || !strings.Contains(got[0], "10.0.0.1") {
			t.Errorf("afterwards: %q", got)
		}
		for i := range 10_000 {
			log.Warn("refused", "remote", fmt.Sprintf("10.%d.%d.1:1", i/200, i%200))
		}
		if got = out.take(); len(got) != allMax {
			t.Errorf("%d lines of as many hosts as one likes", len(got))
		}
		time.Sleep(interval + time.Second)
		synctest.Wait()
		if got = out.take(); len(got) != 1 || !strings.Contains(got[0], fmt.Sprint("lines=", 10_000-allMax)) {
			t.Errorf("afterwards: %q", got)
		}
	})
}
