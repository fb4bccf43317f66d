package session

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"hemera/platform/contain"
	"hemera/rules/checksum"
	"hemera/words/errs"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// unit becomes one tape file: a file, or many small ones. It owns its buffers from its start until release.
type unit struct {
	jobs []tapeapi.Work
	// chunks are the content of a single file in order; it is closed behind the last one.
	chunks chan chunk
	// ready is closed when the members of a container are in memory.
	ready   chan struct{}
	members []member
	free    chan []byte // buffers that are not used now; their number is its capacity
	cancel  context.CancelFunc
	panics  *contain.Panics
	// buffered counts the bytes of all units that are read and not on tape.
	buffered *atomic.Int64
}

// chunk is a part of a file. An error is the last chunk.
type chunk struct {
	data []byte          // nil of an error before the first byte
	sum  hemera.Checksum // adler32 of the whole file, in the last chunk
	last bool
	err  error
}

// member is a small file in memory.
type member struct {
	job  tapeapi.Work
	data []byte          // in a buffer of the unit
	sum  hemera.Checksum // adler32
	err  error           // it is left out of the container
}

// bytes returns the bytes that were read of a member.
func (m member) bytes() int64 {
	if m.err != nil {
		return 0
	}
	return int64(len(m.data))
}

// loaded returns the bytes that were read of all members. It is known when the unit is ready.
func (u *unit) loaded() (bytes int64) {
	for _, m := range u.members {
		bytes += m.bytes()
	}
	return bytes
}

// packed reports whether the unit becomes a container.
func (u *unit) packed() bool { return len(u.jobs) > 1 }

// done gives a buffer of the unit back to it.
func (u *unit) done(b []byte) { u.free <- b[:cap(b)] }

// give sends a chunk to the goroutine of the tape.
func (u *unit) give(c chunk) {
	u.buffered.Add(int64(len(c.data)))
	u.chunks <- c
}

// used ends the use of a chunk that was given.
func (u *unit) used(c chunk) {
	if c.data != nil {
		u.buffered.Add(-int64(len(c.data)))
		u.done(c.data)
	}
}

// release ends the unit, wherever it stands, and gives its buffers to the pool.
func (u *unit) release(p *pool) {
	// Reads that are under way still write to buffers, so they are waited for.
	u.cancel()
	if u.packed() {
		<-u.ready
		u.buffered.Add(-u.loaded())
	} else {
		for c := range u.chunks {
			u.used(c)
		}
	}
	// All buffers come back, one way or the other; a lost one would stop the session for ever.
	for range cap(u.free) {
		p.put(<-u.free)
	}
}

// load reads a single file with all buffers of the unit in flight, and sends its chunks in order.
func (u *unit) load(ctx context.Context, source Source) {
	defer close(u.chunks)
	job := u.jobs[0]
	if job.Size <= 0 { // tape files have data
		u.chunks <- chunk{err: errs.New(errs.Conflict, "session.Archive", job.Path, "the file is empty")}
		return
	}
	var content Content
	var taken *sums // of what was read
	err := u.panics.Do("session.Archive", job.Path, func() (err error) {
		taken = newSums(job)
		content, err = source.Open(ctx, job)
		return err
	})
	if err != nil {
		u.chunks <- chunk{err: err}
		return
	}
	reads := u.read(ctx, content, job.Size)
	failed := false
	for r := range reads {
		// Reads end in any order; the file goes on in its own.
		<-r.done
		c := chunk{data: r.data, last: r.end == job.Size}
		if !failed && r.err == nil {
			// The sum is taken here, in the goroutine of the file, while the tape writes what came before.
			r.err = u.panics.Do("session.Archive", job.Path, func() error {
				taken.write(r.data)
				if c.last {
					c.sum, c.err = taken.adler(), taken.verify()
				}
				return nil
			})
		}
		switch {
		case failed:
			u.done(r.data)
		case r.err != nil:
			failed = true
			u.cancel() // the reads behind it are of no use
			u.done(r.data)
			u.chunks <- chunk{err: r.err}
		default:
			u.give(c)
		}
	}
	_ = content.Close() // it was only read
	// The issuer stopped before the end, and the tape goroutine must not take that for the end of the file.
	if !failed && ctx.Err() != nil {
		u.chunks <- chunk{err: ctx.Err()}
	}
}

// pending is one read of a file. Its data and error are set when done is closed.
type pending struct {
	data []byte
	end  int64 // where it ends in the file
	err  error
	done chan struct{}
}

// read reads a content in chunks, as many at a time as the unit has buffers, and sends the reads in order. It stops when the context ends.
func (u *unit) read(ctx context.Context, content Content, size int64) <-chan *pending {
	reads := make(chan *pending, cap(u.free))
	go func() {
		defer close(reads)
		for offset := int64(0); offset < size; {
			var buf []byte
			select {
			case buf = <-u.free:
			case <-ctx.Done():
				return
			}
			// The last read is shorter.
			buf = buf[:min(int64(len(buf)), size-offset)]
			r := &pending{data: buf, end: offset + int64(len(buf)), done: make(chan struct{})}
			reads <- r
			go func(at int64) {
				defer close(r.done)
				r.err = u.panics.Do("session.Archive", u.jobs[0].Path, func() error { return content.ReadAt(ctx, r.data, at) })
			}(offset)
			offset = r.end
		}
	}()
	return reads
}

// loadersOfAContainer is the number of its files that are read at a time.
const loadersOfAContainer = 16

// loadMembers reads small files into the buffers of the unit; places has, for each file, the buffer and the part of it that the file gets.
func (u *unit) loadMembers(ctx context.Context, source Source, places []place) {
	defer close(u.ready)
	slabs := make([][]byte, cap(u.free))
	// All of the unit's buffers are in use until it is on tape.
	for i := range slabs {
		slabs[i] = <-u.free
	}
	u.members = make([]member, len(u.jobs))
	next := make(chan int)
	var readers sync.WaitGroup
	for range min(loadersOfAContainer, len(u.jobs)) {
		readers.Go(func() {
			for i := range next {
				at := places[i]
				m := &u.members[i]
				m.job, m.data = u.jobs[i], slabs[at.slab][at.offset:at.offset+int(u.jobs[i].Size)]
				m.err = u.panics.Do("session.Archive", m.job.Path, func() error { return m.load(ctx, source) })
				u.buffered.Add(u.members[i].bytes())
			}
		})
	}
	for i := range u.jobs {
		next <- i
	}
	close(next)
	readers.Wait()
	// The members refer to them until release, which comes after the write.
	for _, b := range slabs {
		u.done(b)
	}
}

// load reads the whole file.
func (m *member) load(ctx context.Context, source Source) error {
	content, err := source.Open(ctx, m.job)
	if err != nil {
		return err
	}
	err = content.ReadAt(ctx, m.data, 0)
	_ = content.Close() // it was only read
	if err != nil {
		return err
	}
	sums := newSums(m.job)
	sums.write(m.data)
	m.sum = sums.adler()
	return sums.verify()
}

// sums are the checksums of a file under way: adler32, which goes to the catalogue of the tape, and the one that is known of the content.
type sums struct {
	multi *checksum.Multi
	want  hemera.Checksum // of kind none when nothing is known
	size  int64
	of    tapeapi.Work // whose size is compared too
}

// newSums takes what the catalogue has of the job's file.
func newSums(job tapeapi.Work) *sums {
	s := &sums{of: job}
	want, ok := hemera.FindChecksum(job.Checksum, hemera.Adler32)
	// Without an adler32 the first one that is known is compared.
	if !ok && len(job.Checksum) > 0 {
		want = job.Checksum[0]
	}
	multi, err := checksum.NewMulti(hemera.Adler32, want.Kind)
	if err != nil { // a kind of a newer version is not compared
		want = hemera.Checksum{}
		multi, _ = checksum.NewMulti(hemera.Adler32)
	}
	s.multi, s.want = multi, want
	return s
}

// write adds the next bytes.
func (s *sums) write(b []byte) {
	_, _ = s.multi.Write(b)
	s.size += int64(len(b))
}

// adler returns the adler32 of all that was written.
func (s *sums) adler() hemera.Checksum { return s.multi.Sums()[0] }

// verify fails with Corrupt unless size and checksum are those of the catalogue.
func (s *sums) verify() error {
	if s.size != s.of.Size {
		return errs.New(errs.Corrupt, "session.Verify", s.of.Path, fmt.Sprintf("it has %d bytes instead of %d", s.size, s.of.Size))
	}
	if s.want.Kind == hemera.ChecksumNone {
		return nil
	}
	if got, _ := hemera.FindChecksum(s.multi.Sums(), s.want.Kind); got != s.want {
		return errs.New(errs.Corrupt, "session.Verify", s.of.Path, fmt.Sprintf("its checksum is %s instead of %s", got, s.want))
	}
	return nil
}
