package client

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"strings"

	"hemera/errs"
	"hemera/rules/wire"
)

// List calls visit for each entry of a directory, in the server's order, with bounded memory. Its
// session is its own while it lasts, so that visit may use the client as it likes and be slow. It
// ends with visit's error, if any.
func (c *Client) List(ctx context.Context, u URL, visit func(Info) error) error {
	var l listing
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	each := func(i Info) error { return c.visit(ctx, u, i, l.plain, visit) }
	q := request{op: "list", build: onPath(wire.Dirlist{Options: wire.DirlistStat})}
	err := c.streamed(ctx, u, q, func(chunk []byte) error { return l.feed(chunk, false, each) })
	if err == nil {
		err = l.feed(nil, true, each)
	}
	return err
}

// streamed does a request on a session of its own, and calls feed with the answer's bytes as they come. It ends with
// feed's error, if any.
func (c *Client) streamed(ctx context.Context, u URL, q request, feed func(chunk []byte) error) error {
	chunks := make(chunkSink, 4)
	var failed error
	q.exclusive, q.sink = true, chunks
	q.await = func(ctx context.Context, conn *Conn, k *call) answer {
		for {
			select {
			case chunk := <-chunks:
				if failed = feed(chunk); failed != nil {
					conn.Close() // nobody reads the rest
					drain(chunks, k)
					return answer{}
				}
			case <-k.done:
				return k.answer
			case <-ctx.Done():
				conn.Close()
				drain(chunks, k)
				return answer{err: ctx.Err()}
			}
		}
	}
	_, err := c.do(ctx, newRoute(u), q)
	for err == nil && failed == nil && len(chunks) > 0 {
		failed = feed(<-chunks)
	}
	if failed != nil {
		return failed
	}
	return err
}

// visit completes an entry of a server that lists names only.
func (c *Client) visit(ctx context.Context, dir URL, i Info, plain bool, visit func(Info) error) error {
	if plain {
		full, err := c.Stat(ctx, dir.Join(i.Name))
		if errs.KindOf(err) == errs.NotFound && err != nil {
			return nil // removed meanwhile
		}
		if err != nil {
			return err
		}
		i = full
	}
	return visit(i)
}

// chunkSink hands a listing's bytes to the caller's goroutine as they come; a full channel makes
// the server wait.
type chunkSink chan []byte

func (s chunkSink) take(r *bufio.Reader, f frame) error {
	for left := f.n; left > 0; {
		chunk := make([]byte, min(left, 64<<10))
		if _, err := io.ReadFull(r, chunk); err != nil {
			return err
		}
		s <- chunk
		left -= len(chunk)
	}
	return nil
}

// drain lets a sink whose session was closed come to its end.
func drain(chunks chunkSink, k *call) {
	for {
		select {
		case <-chunks:
		case <-k.done:
			return
		}
	}
}

// listing reads the text of a directory listing piece by piece.
type listing struct {
	rest  []byte // of a line that has not ended
	lines int
	name  string // waits for its stat line
	stats bool
	plain bool // the server sends names only
}

// feed takes a piece of the text and calls visit for each complete entry. end is set with the last.
func (l *listing) feed(chunk []byte, end bool, visit func(Info) error) error {
	l.rest = append(l.rest, chunk...)
	for {
		i := bytes.IndexAny(l.rest, "\n\x00")
		if i < 0 && !(end && len(l.rest) > 0) {
			return nil
		}
		line := l.rest
		if i >= 0 {
			line, l.rest = l.rest[:i], l.rest[i+1:]
		} else {
			l.rest = nil
		}
		if err := l.line(string(line), visit); err != nil {
			return err
		}
	}
}

// line takes one line: the lead-in of two that announces stat lines, a name, or a name's stat line.
func (l *listing) line(s string, visit func(Info) error) error {
	l.lines++
	switch {
	case s == "":
		return nil
	case l.lines == 1 && s == ".":
		l.stats = true
		return nil
	case l.lines == 2 && l.stats:
		return nil
	case !l.stats:
		l.plain = true
		return entry(Info{Name: s}, visit)
	case l.name == "":
		l.name = s
		return nil
	}
	name := l.name
	l.name = ""
	text, _, _ := strings.Cut(s, " [ ")
	info, err := wire.ParseStat([]byte(text))
	if err != nil {
		return errs.As(err, errs.Corrupt, "list", name)
	}
	return entry(Info{name, info}, visit)
}

// entry passes an entry on. Its name becomes a part of paths, at other servers and on this machine, so
// one that leads out of its directory is not taken.
func entry(i Info, visit func(Info) error) error {
	switch {
	case i.Name == "." || i.Name == "..":
		return nil
	case strings.Contains(i.Name, "/"):
		return errs.New(errs.Corrupt, "list", i.Name, "the server lists a name with a slash in it")
	}
	return visit(i)
}
