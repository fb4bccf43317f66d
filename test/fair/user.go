package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"hemera/client/admin"
	"hemera/client/xrootd"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// person is the state of a user's process.
type person struct {
	at     string
	files  *xrootd.Client
	admin  *admin.Client
	number atomic.Int64 // of names that are made
}

// greed is a way to ask for much. Each call of do is one request, or one after the other; calls come from several goroutines.
type greed struct {
	name  string
	lanes int
	do    func(ctx context.Context, p *person) error
}

// greeds returns the rows of the table.
func greeds() []greed {
	many := func(n int) (list []tapeapi.StageFile) {
		for i := range n {
			list = append(list, tapeapi.StageFile{Path: "/greedy/long/" + strconv.Itoa(i)})
		}
		return list
	}
	paths := make([]string, 5000)
	for i := range paths {
		paths[i] = "/greedy/long/" + strconv.Itoa(i)
	}
	who := hemera.Identity{}
	stage := func(ctx context.Context, p *person, files []tapeapi.StageFile) error {
		_, err := p.admin.Staging.Stage(ctx, who, tapeapi.StageRequest{Files: files})
		return err
	}
	return []greed{
		{"nothing", 1, func(ctx context.Context, _ *person) error { <-ctx.Done(); return ctx.Err() }},
		{"the same work", 2, func(ctx context.Context, p *person) error { return p.steady(ctx, "/greedy/new/") }},
		{"stage requests", 16, func(ctx context.Context, p *person) error {
			return stage(ctx, p, []tapeapi.StageFile{{Path: "/greedy/nothing" + strconv.FormatInt(p.number.Add(1), 10)}})
		}},
		{"paths in stage requests", 4, func(ctx context.Context, p *person) error { return stage(ctx, p, many(5000)) }},
		{"pins", 16, func(ctx context.Context, p *person) error { return stage(ctx, p, many(1)) }},
		{"paths in questions where files are", 16, func(ctx context.Context, p *person) error {
			_, err := p.admin.Staging.Localities(ctx, who, "", paths)
			return err
		}},
		{"open files", 16, func(ctx context.Context, p *person) error {
			_, err := p.files.Open(ctx, p.url("/greedy/big"), xrootd.OpenOptions{})
			return err
		}},
		{"writes that are kept", 16, func(ctx context.Context, p *person) error { return p.begin(ctx, true) }},
		{"writes that stay open", 16, func(ctx context.Context, p *person) error { return p.begin(ctx, false) }},
		{"permissions of direct writes", 16, func(ctx context.Context, p *person) error {
			_, err := p.files.Where(ctx, p.url(p.newName()), xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
			return err
		}},
		{"admin verbs", 64, func(ctx context.Context, p *person) error {
			_, err := p.admin.Names.Stat(ctx, who, "/greedy")
			return err
		}},
		{"REST bodies", 64, func(ctx context.Context, p *person) error { return p.slowBody(ctx) }},
		{"questions to all disks", 16, func(ctx context.Context, p *person) error {
			_, err := p.admin.Maint.FileInfo(ctx, who, "fid:"+strconv.FormatInt(1<<40+p.number.Add(1), 10))
			return err
		}},
		{"searches", 16, func(ctx context.Context, p *person) error {
			_, err := p.admin.Names.Walk(ctx, adminapi.WalkRequest{Path: "/greedy", Name: "nothing"}, func(adminapi.Found) error { return nil })
			return err
		}},
		{"listings", 16, func(ctx context.Context, p *person) error {
			return p.files.List(ctx, p.url("/greedy/long"), func(xrootd.Info) error { return nil })
		}},
		{"recycle bins", 16, func(ctx context.Context, p *person) error {
			return p.admin.Recycle.ListRecycled(ctx, who, adminapi.RecycleQuery{}, func(adminapi.Recycled) error { return nil })
		}},
	}
}

// work does the work of a user's process. It prints the number of calls that were served, and of those that were refused.
func work(what, at string, length time.Duration) error {
	u, err := xrootd.ParseURL("root://" + at + "//")
	if err != nil {
		return err
	}
	p := &person{at: at, files: xrootd.New(xrootd.Options{RetryFor: time.Second, WaitFor: time.Second})}
	if p.admin, err = admin.DialFrom("root://"+at, caller{xrootd.New(xrootd.Options{RetryFor: time.Second, WaitFor: time.Second, Sessions: 8}), u}); err != nil {
		return err
	}
	p.number.Store(time.Now().UnixNano())
	if what == "prepare" {
		if err := p.prepare(); err != nil {
			return err
		}
		fmt.Println(names, 0)
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	g := greed{lanes: 2, do: func(ctx context.Context, p *person) error { return p.steady(ctx, "/worker/") }}
	for _, other := range greeds() {
		if other.name == what {
			g = other
		}
	}
	var served, refused atomic.Int64
	var lanes sync.WaitGroup
	for range g.lanes {
		lanes.Go(func() {
			for ctx.Err() == nil {
				err := g.do(ctx, p)
				switch {
				case err == nil:
					served.Add(1)
				case ctx.Err() == nil && g.name == "":
					cancel()
					refused.Add(1)
				case ctx.Err() == nil:
					refused.Add(1)
				}
			}
		})
	}
	lanes.Wait()
	if g.name == "" && refused.Load() > 0 {
		return errs.New(errs.Internal, "fair.Work", what, "the worker was refused something")
	}
	fmt.Println(served.Load(), refused.Load())
	return nil
}

func (p *person) url(path string) xrootd.URL {
	u, _ := xrootd.ParseURL("root://" + p.at + "/" + path) // paths are those of this program
	return u
}

func (p *person) newName() string { return "/greedy/new/" + strconv.FormatInt(p.number.Add(1), 10) }

// prepare makes what greed is about: a long directory and a file.
func (p *person) prepare() error {
	ctx := context.Background()
	for _, dir := range []string{"/greedy/long", "/greedy/new"} {
		if err := p.files.Mkdir(ctx, p.url(dir), 0o755, true); err != nil {
			return err
		}
	}
	if err := p.put(ctx, "/greedy/big", make([]byte, 1<<20)); err != nil {
		return err
	}
	var all sync.WaitGroup
	var failed atomic.Pointer[error]
	for lane := range 64 {
		all.Go(func() {
			for i := lane; i < names; i += 64 {
				if err := p.put(ctx, "/greedy/long/"+strconv.Itoa(i), nil); err != nil {
					failed.Store(&err)
					return
				}
			}
		})
	}
	all.Wait()
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// put writes a file.
func (p *person) put(ctx context.Context, path string, data []byte) error {
	f, err := p.files.Open(ctx, p.url(path), xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
	if err != nil {
		return err
	}
	if len(data) > 0 {
		err = f.WriteAt(ctx, data, 0)
	}
	if err != nil {
		_ = f.Abandon(ctx)
		return err
	}
	return f.Close(ctx)
}

// steady does one turn of a worker in its directory: a small write, its stat, and a read of it.
func (p *person) steady(ctx context.Context, dir string) error {
	path, data := dir+strconv.FormatInt(p.number.Add(1)%64, 10), make([]byte, 64<<10)
	if err := p.put(ctx, path, data); err != nil {
		return err
	}
	if _, err := p.files.Stat(ctx, p.url(path)); err != nil {
		return err
	}
	f, err := p.files.Open(ctx, p.url(path), xrootd.OpenOptions{})
	if err != nil {
		return err
	}
	if _, err := f.ReadAt(ctx, data, 0); err != nil && err != io.EOF {
		return err
	}
	return f.Close(ctx)
}

// begin begins a write and leaves it open, or leaves it with content for the server to keep.
func (p *person) begin(ctx context.Context, content bool) error {
	f, err := p.files.Open(ctx, p.url(p.newName()), xrootd.OpenOptions{Write: true, Create: true, Mode: 0o644})
	if err != nil || !content {
		return err
	}
	err = f.WriteAt(ctx, make([]byte, 100_000), 0)
	_ = f.Abandon(ctx)
	return err
}

// slowBody returns a request of the tape API whose body comes slowly.
func (p *person) slowBody(ctx context.Context) error {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", p.at)
	if err != nil {
		return err
	}
	defer c.Close()
	body := bytes.Repeat([]byte(" "), 1<<20)
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+p.at+"/api/v1/archiveinfo", nil)
	if err != nil {
		return err
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	if err := r.Write(slowly{ctx, c}); err != nil {
		return err
	}
	return nil
}

// slowly writes with pauses.
type slowly struct {
	ctx context.Context //nolint:containedctx // of one request
	to  io.Writer
}

// Write implements io.Writer.
func (s slowly) Write(b []byte) (n int, err error) {
	for n < len(b) && err == nil {
		var m int
		m, err = s.to.Write(b[n:min(n+16<<10, len(b))])
		n += m
		select {
		case <-s.ctx.Done():
			return n, s.ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return n, err
}
