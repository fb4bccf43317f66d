package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"hemera/words/errs"
)

// set identifies the files of one load in one iteration, so that no two files of a run have the same content.
type set struct {
	dir       string // below the target
	letter    string // of the load
	iteration int    // counted through all numbers of clients
}

// item is the name of one file and the number of its content.
type item struct {
	name string
	key  uint64
}

// file returns a client's file. The name shows its owner.
func (s set) file(client, i int) item {
	key := uint64(s.iteration)<<48 | uint64(client)<<32 | uint64(i)<<8 | uint64(s.letter[0])
	return item{fmt.Sprintf("%s/%s%d-client%d-file%d", s.dir, s.letter, s.iteration, client, i), key}
}

// phases returns the phases of the options in their order, for one iteration in a directory. The files of a later load
// are written before, also if the writing is not measured: then its name is "".
func (o *Options) phases(dir string, iteration int) (all []phase) {
	files := func(letter string) set { return set{dir, letter, iteration} }
	named := func(load, name string) string {
		if o.wants(load) {
			return name
		}
		return ""
	}
	// Reads need files even if the writes are not measured.
	if o.wants(Sequential, Random, Vector, Mixed) {
		all = append(all, phase{name: named(Sequential, "write"), peak: true, write: true, do: o.writeFiles(files("s"))})
	}
	if o.wants(Sequential) {
		all = append(all, phase{name: "read", cold: true, peak: true, do: o.readFiles(files("s"))})
	}
	if o.wants(Random) {
		all = append(all, phase{name: Random, cold: true, do: o.readRandom(files("s"), 1)})
	}
	if o.wants(Vector) {
		all = append(all, phase{name: Vector, cold: true, do: o.readRandom(files("s"), o.Elements)})
	}
	if o.wants(Mixed) {
		all = append(all, phase{name: Mixed, cold: true, do: o.mix(files("s"), files("m"))})
	}
	// Copies have separate files, because the streams of one client are all open at once.
	if o.wants(Copies) {
		all = append(all, phase{name: "put", peak: true, write: true, do: o.copies(files("c"), true, putter(o.Driver))},
			phase{name: "get", cold: true, peak: true, do: o.copies(files("c"), false, getter(o.Driver))})
	}
	if o.wants(Small) {
		all = append(all, phase{name: "create", do: o.smallFiles(files("t"), (*client).create)},
			phase{name: "open", cold: true, do: o.smallFiles(files("t"), (*client).whole)})
	}
	if o.wants(Metadata) {
		all = append(all, o.metadata(files("e"))...)
	}
	return all
}

// neighbour returns the client whose files a client reads: another one, if there is one.
func (c *client) neighbour() int { return (c.id + 1) % len(c.clients) }

// writeFiles returns the work in which each client writes its files one after another, in synchronous transfers.
func (o *Options) writeFiles(s set) func(context.Context, *client, *count) error {
	return func(ctx context.Context, c *client, n *count) error {
		for i := range o.Files {
			// A file that was begun is completed: servers refuse files that are shorter than announced.
			if i > 0 && c.over.Load() {
				return nil
			}
			if err := o.writeFile(ctx, c, c.buffer, n, s.file(c.id, i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// writeFile writes one file. Making the data is part of the phase, but not of an operation's latency. The same holds for
// the close, which makes the file durable.
func (o *Options) writeFile(ctx context.Context, c *client, buffer []byte, n *count, it item) error {
	c.tree.file(it.name)
	f, err := c.target.Create(ctx, it.name, o.Size)
	if err != nil {
		return err
	}
	// Synchronous: the next transfer waits for the answer to this one.
	for off := int64(0); off < o.Size && err == nil; off += int64(o.Transfer) {
		p := buffer[:min(int64(o.Transfer), o.Size-off)]
		c.data.fill(p, it.key, off)
		start := time.Now()
		err = f.WriteAt(ctx, p, off)
		n.add(0, len(p), time.Since(start))
	}
	return errors.Join(err, f.Close(ctx))
}

// readFiles returns the work in which each client reads the files of another, in synchronous transfers.
func (o *Options) readFiles(s set) func(context.Context, *client, *count) error {
	return func(ctx context.Context, c *client, n *count) error {
		for i := range o.Files {
			if i > 0 && c.over.Load() {
				return nil
			}
			if err := o.readFile(ctx, c, n, s.file(c.neighbour(), i)); err != nil {
				return err
			}
		}
		return nil
	}
}

// readFile reads one file. It ends early when the phase has ended for its group.
func (o *Options) readFile(ctx context.Context, c *client, n *count, it item) error {
	f, err := c.target.Open(ctx, it.name)
	if err != nil {
		return err
	}
	for off := int64(0); off < o.Size && err == nil && !c.over.Load(); off += int64(o.Transfer) {
		p := c.buffer[:min(int64(o.Transfer), o.Size-off)]
		start := time.Now()
		err = f.ReadAt(ctx, p, off)
		took := time.Since(start)
		if err == nil {
			err = c.verify(p, it, off)
		}
		n.add(len(p), 0, took)
	}
	return errors.Join(err, f.Close(ctx))
}

// verify compares data with the file's content. It fails with IO if they differ.
func (c *client) verify(p []byte, it item, off int64) error {
	if at := c.data.check(p, it.key, off); at >= 0 {
		return errs.New(errs.IO, "load.Verify", c.at.path(it.name), fmt.Sprintf("what was read at byte %d is not what was written", at)).
			WithRemedy("this target damages data: look for the cause before measuring it")
	}
	return nil
}

// readRandom returns the work in which each client reads blocks at random places of another client's files until the time
// is over, elements of them in one request. Every client makes at least one request.
func (o *Options) readRandom(s set, elements int) func(context.Context, *client, *count) error {
	return func(ctx context.Context, c *client, n *count) error {
		// The files stay open: the load small measures opens.
		open := make([]File, o.Files)
		defer func() {
			for _, f := range open {
				if f != nil {
					_ = f.Close(ctx)
				}
			}
		}()
		for i := range open {
			var err error
			if open[i], err = c.target.Open(ctx, s.file(c.neighbour(), i).name); err != nil {
				return err
			}
		}
		// All parts use the client's one buffer.
		parts, offsets := make([][]byte, elements), make([]int64, elements)
		for i := range parts {
			parts[i] = c.buffer[i*o.Block:][:o.Block]
		}
		for begun := time.Now(); n.operations == 0 || time.Since(begun) < o.For; {
			i := c.dice.IntN(o.Files)
			// Whole blocks, so that direct I/O can read them; the rest of a file is left out.
			for k := range offsets {
				offsets[k] = c.dice.Int64N(o.Size/int64(o.Block)) * int64(o.Block)
			}
			start := time.Now()
			err := readParts(ctx, open[i], parts, offsets)
			if err != nil {
				return err
			}
			n.add(elements*o.Block, 0, time.Since(start))
			for k := range parts {
				if err := c.verify(parts[k], s.file(c.neighbour(), i), offsets[k]); err != nil {
					return err
				}
			}
		}
		return nil
	}
}

// readParts reads one part by a plain read, and several by a vector.
func readParts(ctx context.Context, f File, parts [][]byte, offsets []int64) error {
	if len(parts) == 1 {
		return f.ReadAt(ctx, parts[0], offsets[0])
	}
	return f.ReadVector(ctx, parts, offsets)
}

// mix returns the work in which each client writes new files and reads those of another at the same time.
func (o *Options) mix(old, fresh set) func(context.Context, *client, *count) error {
	return func(ctx context.Context, c *client, n *count) error {
		// Two goroutines with a count each; the writer uses the client's other buffer.
		var wrote count
		var failed error
		var writer sync.WaitGroup
		writer.Go(func() {
			for i := range o.Files {
				if failed = o.writeFile(ctx, c, c.second, &wrote, fresh.file(c.id, i)); failed != nil {
					return
				}
			}
		})
		err := o.readFiles(old)(ctx, c, n)
		writer.Wait()
		n.merge(&wrote)
		return errors.Join(err, failed)
	}
}

// copies returns the work in which each client copies all of its files at the same time.
func (o *Options) copies(s set, write bool, one copier) func(context.Context, *client, *count) error {
	// A copy is one operation, and its bytes are counted when it has ended.
	read, written := int(o.Size), 0
	if write {
		read, written = written, read
	}
	return func(ctx context.Context, c *client, n *count) error {
		// The counts of the streams are added to that of the client.
		var mu sync.Mutex
		var failed error
		var all sync.WaitGroup
		for i := range o.Files {
			all.Go(func() {
				start := time.Now()
				err := one(c, ctx, o, s, i)
				took := time.Since(start)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					failed = err
					return
				}
				n.add(read, written, took)
			})
		}
		all.Wait()
		return failed
	}
}

// put writes one file as a stream.
func (c *client) put(ctx context.Context, o *Options, s set, i int) error {
	it := s.file(c.id, i)
	c.tree.file(it.name)
	f, err := c.target.Create(ctx, it.name, o.Size)
	if err != nil {
		return err
	}
	// It writes ahead of the answers, like copies.
	w, buffer := f.NewWriter(ctx), o.streamBuffer()
	for off := int64(0); off < o.Size && err == nil; off += int64(len(buffer)) {
		p := buffer[:min(int64(len(buffer)), o.Size-off)]
		c.data.fill(p, it.key, off)
		_, err = w.Write(p)
	}
	if err == nil {
		err = w.Flush()
	}
	return errors.Join(err, f.Close(ctx))
}

// get reads one file of another client as a stream.
func (c *client) get(ctx context.Context, o *Options, s set, i int) error {
	it := s.file(c.neighbour(), i)
	f, err := c.target.Open(ctx, it.name)
	if err != nil {
		return err
	}
	// It reads ahead of the comparison.
	r, buffer := f.NewReader(ctx, o.Size), o.streamBuffer()
	for off := int64(0); off < o.Size && err == nil; off += int64(len(buffer)) {
		p := buffer[:min(int64(len(buffer)), o.Size-off)]
		if _, err = io.ReadFull(r, p); err == nil {
			err = c.verify(p, it, off)
		}
	}
	return errors.Join(err, r.Close(), f.Close(ctx))
}

// streamBuffer returns the memory of one copy, with the size that stock clients use.
func (o *Options) streamBuffer() []byte { return aligned(1 << 20) }

// smallFiles returns the work in which each client calls one for its small files, one after another.
func (o *Options) smallFiles(s set, one func(*client, context.Context, set, int, []byte) (read, written int, err error)) func(context.Context, *client, *count) error {
	return func(ctx context.Context, c *client, n *count) error {
		for i := range o.SmallFiles {
			// The latency is that of the whole file: open, transfer, close.
			start := time.Now()
			read, written, err := one(c, ctx, s, i, c.buffer[:o.SmallSize])
			if err != nil {
				return err
			}
			n.add(read, written, time.Since(start))
		}
		return nil
	}
}

// create makes one small file.
func (c *client) create(ctx context.Context, s set, i int, p []byte) (read, written int, err error) {
	it := s.file(c.id, i)
	c.data.fill(p, it.key, 0)
	c.tree.file(it.name)
	f, err := c.target.Create(ctx, it.name, int64(len(p)))
	if err != nil {
		return 0, 0, err
	}
	err = f.WriteAt(ctx, p, 0)
	return 0, len(p), errors.Join(err, f.Close(ctx))
}

// whole reads one small file of another client.
func (c *client) whole(ctx context.Context, s set, i int, p []byte) (read, written int, err error) {
	it := s.file(c.neighbour(), i)
	f, err := c.target.Open(ctx, it.name)
	if err != nil {
		return 0, 0, err
	}
	err = f.ReadAt(ctx, p, 0)
	if err == nil {
		err = c.verify(p, it, 0)
	}
	return len(p), 0, errors.Join(err, f.Close(ctx))
}
