package crash

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/client/xrootd"
	"hemera/words/errs"
)

// content is the checksum of what a path holds; the zero value is nothing at all.
type content [sha256.Size]byte

// path has the contents that one file may hold. One worker changes it.
type path struct {
	url     xrootd.URL
	may     []content
	doubted []content // writes without an answer: they may still come where there is no file
	last    string    // what was done last
}

func (p *path) allowed(found content) bool {
	return slices.Contains(p.may, found) || slices.Contains(p.may, content{}) && slices.Contains(p.doubted, found)
}

func (p *path) did(what string, err error, now content) {
	p.last = fmt.Sprintf("%s: %v", what, err)
	if err == nil {
		p.may = []content{now}
		return
	}
	p.may = append(p.may, now)
	p.doubted = append(p.doubted, now)
}

// worker changes and reads files of its own.
type worker struct {
	t      testing.TB
	client *xrootd.Client
	rng    *rand.Rand
	paths  []*path
	acked  int
	failed int
}

func newWorker(c *cluster, i int, seed uint64) *worker {
	w := &worker{t: c.T, client: c.client, rng: rand.New(rand.NewPCG(seed, uint64(i)))}
	const files = 8
	for f := range files {
		u, err := xrootd.ParseURL(fmt.Sprintf("%s//w%d/f%d", c.URL, i, f))
		if err != nil {
			c.T.Fatal(err)
		}
		w.paths = append(w.paths, &path{url: u, may: []content{{}}})
	}
	return w
}

func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil {
		p := w.paths[w.rng.IntN(len(w.paths))]
		switch w.rng.IntN(6) {
		case 0, 1, 2:
			w.write(p)
		case 3:
			err := w.client.Remove(context.Background(), p.url)
			if errs.KindOf(err) == errs.NotFound && err != nil {
				err = nil
			}
			p.did("remove", err, content{})
		default:
			found, err := w.read(p)
			if err == nil {
				w.check(p, found)
			}
		}
	}
}

func (w *worker) check(p *path, found content) {
	if !p.allowed(found) {
		w.t.Errorf("%s holds %x, which is none of the %d contents it may have (last: %s)", p.url.Path, found[:4], len(p.may), p.last)
	}
}

func (w *worker) write(p *path) {
	sizes := []int{0, 1, 4096, 100_000, 1 << 20, 5 << 20}
	size := sizes[w.rng.IntN(len(sizes))]
	data := make([]byte, size)
	for i := 0; i < size; i += 8 {
		v := w.rng.Uint64()
		for j := range min(8, size-i) {
			data[i+j] = byte(v >> (8 * j))
		}
	}
	ctx := context.Background()
	f, err := w.client.Open(ctx, p.url, xrootd.OpenOptions{Write: true, Create: true, Parents: true, Mode: 0o644, Size: int64(size)})
	if err != nil {
		w.failed++ // nothing was written: nothing can have changed
		return
	}
	err = f.WriteAt(ctx, data, 0)
	if size == 0 {
		err = nil
	}
	if err = errors.Join(err, f.Close(ctx)); err == nil {
		w.acked++
	} else {
		w.failed++
	}
	p.did(fmt.Sprintf("write of %d bytes", size), err, sha256.Sum256(data))
}

func (w *worker) read(p *path) (found content, err error) {
	ctx := context.Background()
	f, err := w.client.Open(ctx, p.url, xrootd.OpenOptions{})
	if err != nil {
		if errs.KindOf(err) == errs.NotFound {
			return content{}, nil
		}
		return found, err
	}
	defer f.Close(ctx)
	sum := sha256.New()
	if _, err := io.Copy(sum, f.NewReader(ctx, 0, f.Info().Size)); err != nil {
		return found, err
	}
	sum.Sum(found[:0])
	return found, nil
}

// settle reads every file at last: all must be readable.
func (w *worker) settle() {
	for _, p := range w.paths {
		var found content
		var err error
		for deadline := time.Now().Add(patience); ; time.Sleep(poll) {
			if found, err = w.read(p); err == nil || time.Now().After(deadline) {
				break
			}
		}
		if err != nil {
			w.t.Errorf("%s cannot be read at the end: %v (last: %s)", p.url.Path, err, strings.TrimSpace(p.last))
			continue
		}
		w.check(p, found)
	}
}
