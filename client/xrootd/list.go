package xrootd

import (
	"bytes"
	"io"
	"strings"

	"hemera/rules/wire"
	"hemera/words/errs"
)

// chunksAhead bounds the pieces of an answer that wait for their reader.
const chunksAhead = 4

// chunkSink passes a listing's bytes to the caller's goroutine as they arrive; a full channel makes the server wait.
type chunkSink chan []byte

// take implements sink. It blocks while the reader is slow, so a listing has its own session.
func (s chunkSink) take(r *receiver, f frame) error {
	for left := f.n; left > 0; {
		// New memory each time: the reader keeps the chunk while the next one arrives.
		chunk := make([]byte, min(left, 64<<10))
		if _, err := io.ReadFull(r, chunk); err != nil {
			return err
		}
		s <- chunk
		left -= len(chunk)
	}
	return nil
}

// drain lets a sink whose session was closed finish: the reading goroutine may be about to pass a chunk.
func drain(chunks chunkSink, k *call) {
	for {
		select {
		case <-chunks:
		case <-k.done:
			return
		}
	}
}

// listing parses the text of a directory listing chunk by chunk. With stat lines, names and stats alternate after a first
// pair of lines; without, each line is a name.
type listing struct {
	rest  []byte // of a line that has not ended
	lines int    // complete lines so far
	name  string // waits for its stat line
	stats bool   // names are followed by their stat lines
	plain bool   // the server sends names only
}

// feed processes a chunk of the text and calls visit for each complete entry. end is set with the last.
func (l *listing) feed(chunk []byte, end bool, visit func(Info) error) error {
	// A line may begin in one chunk and end in another, so the rest is kept.
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

// line processes one line: the lead-in of two that announces stat lines, a name, or a name's stat line.
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
	text, _, _ := strings.Cut(s, " [ ") // a checksum may follow, in brackets
	info, err := wire.ParseStat([]byte(text))
	if err != nil {
		return errs.As(err, errs.Corrupt, "xrootd.List", name)
	}
	return entry(Info{name, info}, visit)
}

// entry passes an entry to visit. Its name becomes a part of paths, at other servers and on this machine, so it refuses a
// name that leads out of its directory.
func entry(i Info, visit func(Info) error) error {
	switch {
	case i.Name == "." || i.Name == "..":
		return nil
	case strings.Contains(i.Name, "/"):
		return errs.New(errs.Corrupt, "xrootd.List", i.Name, "the server lists a name with a slash in it")
	}
	return visit(i)
}
