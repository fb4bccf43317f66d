package namespace_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"hemera/namespace"
	"hemera/platform/kv"
	"hemera/platform/kv/memkv"
	"hemera/words/errs"
	"hemera/words/hemera"
)

var rewrite = flag.Bool("rewrite", false, "write the answers of the scenarios anew")

// TestScenarios runs testdata/*.txt: commands, a line "----", the answers, an empty line. Arguments
// are key=value or plain; who= takes alice, bob or admin and is alice when missing.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scenarios", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			got := newStage(t).play(string(text))
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(text) {
				t.Errorf("the answers differ; look at them with -rewrite and git diff. Now:\n%s", got)
			}
		})
	}
}

// stage is one scenario's world. Its clock moves one second a command.
type stage struct {
	t       *testing.T
	ctx     context.Context
	store   kv.Store
	n       *namespace.Namespace
	now     time.Time
	commits map[string]namespace.Commit // prepared, by the scenario's word
	out     strings.Builder
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, ctx: t.Context(), store: memkv.New(), now: time.Unix(1_000_000, 0), commits: make(map[string]namespace.Commit)}
	s.start()
	return s
}

func (s *stage) start() {
	s.n = open(s.t, s.store, namespace.Options{Clock: func() time.Time { return s.now }, EventsMax: 8})
}

// play answers every block of the text; comments and empty lines stay.
func (s *stage) play(text string) string {
	var out strings.Builder
	for i, block := range strings.Split(strings.TrimRight(text, "\n"), "\n\n") {
		if i > 0 {
			out.WriteString("\n")
		}
		question, _, _ := strings.Cut(block, "\n----")
		out.WriteString(question + "\n")
		s.out.Reset()
		asked := false
		for line := range strings.Lines(question) {
			if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
				s.run(line)
				asked = true
			}
		}
		if asked {
			out.WriteString("----\n" + s.out.String())
		}
	}
	return out.String()
}

type args struct {
	who   hemera.Identity
	plain []string
	named map[string]string
}

func (a args) at(i int) string {
	if i < len(a.plain) {
		return a.plain[i]
	}
	return ""
}

func (a args) number(key string, otherwise int64) int64 {
	if v, err := strconv.ParseInt(a.named[key], 0, 64); err == nil {
		return v
	}
	return otherwise
}

func (s *stage) run(line string) {
	s.now = s.now.Add(time.Second)
	words := strings.Fields(line)
	a := args{who: alice(), named: make(map[string]string)}
	for _, w := range words[1:] {
		if key, value, ok := strings.Cut(w, "="); ok {
			a.named[key] = value
		} else {
			a.plain = append(a.plain, w)
		}
	}
	switch a.named["who"] {
	case "bob":
		a.who = bob()
	case "admin":
		a.who = hemera.Identity{Name: "root", Admin: true}
	}
	command := s.commands()[words[0]]
	if command == nil {
		s.t.Fatalf("%q is no command", words[0])
	}
	if err := command(a); err != nil {
		var e *errs.Error
		errors.As(err, &e)
		s.say("%s: %v", e.Kind, err)
	}
}

func (s *stage) say(format string, values ...any) { fmt.Fprintf(&s.out, format+"\n", values...) }

func (s *stage) commands() map[string]func(args) error {
	m := s.writing()
	maps.Copy(m, s.reading())
	return m
}

func (s *stage) reading() map[string]func(args) error {
	return map[string]func(args) error{
		"stat": func(a args) error {
			e, err := s.n.Tree.Stat(s.ctx, a.who, a.at(0))
			if err == nil {
				s.show(e)
			}
			return err
		},
		"ls": func(a args) error {
			return s.n.Tree.List(s.ctx, a.who, a.at(0), func(e hemera.Entry) error { s.show(e); return nil })
		},
		"open": func(a args) error {
			p, err := s.n.Writes.Prepare(s.ctx, a.who, hemera.OpenRequest{Path: a.at(0), Access: hemera.AccessRead})
			if err != nil {
				return err
			}
			s.show(p.Entry)
			return nil
		},
		"resolve": func(a args) error {
			_, path, err := s.n.Inspection.Resolve(s.ctx, hemera.FileID(a.number("fid", 0)))
			if err == nil {
				s.say("%s", path)
			}
			return err
		},
		"disk": func(a args) error {
			id := hemera.DiskID(a.number("id", 1))
			pieces, bytes, err := s.n.Pieces.DiskUsage(s.ctx, id)
			if err != nil {
				return err
			}
			files, err := s.n.Pieces.DiskFiles(s.ctx, id, hemera.FileID(a.number("after", 0)), 100)
			if err != nil {
				return err
			}
			unlinked, err := s.n.Pieces.Unlinked(s.ctx, id, 100)
			s.say("disk %s: %d pieces, %d bytes, files %v, to remove %v", id, pieces, bytes, ids(files), unlinked)
			return err
		},
		"incomplete": func(a args) error {
			files, err := s.n.Pieces.Incomplete(s.ctx, hemera.FileID(a.number("after", 0)), int(a.number("limit", 100)))
			s.say("%v", ids(files))
			return err
		},
		"events": func(a args) error {
			events, err := s.n.Inspection.Events(s.ctx, uint64(a.number("after", 0)), 100)
			for _, e := range events {
				s.say("%d kind=%d fid=%s %s %s %s %d", e.Seq, e.Kind, e.File, e.Path, e.To, e.Who, e.Bytes)
			}
			return err
		},
		"check": func(args) error {
			problems, err := s.n.Inspection.Check(s.ctx)
			s.say("%d problems %v", len(problems), problems)
			return err
		},
		"stats": func(args) error {
			st := s.n.Inspection.Stats()
			s.say("%+v next=%s seq=%d epoch=%d unlinked=%d", st.Totals, st.NextID, st.Sequence, st.Epoch, st.Unlinked)
			return nil
		},
	}
}

func (s *stage) writing() map[string]func(args) error {
	return map[string]func(args) error{
		"mkdir": func(a args) error {
			_, err := s.n.Tree.Mkdir(s.ctx, a.who, a.at(0), uint32(a.number("mode", 0o755)), a.at(1) == "-p")
			return err
		},
		"rename": func(a args) error { return s.n.Tree.Rename(s.ctx, a.who, a.at(0), a.at(1)) },
		"rm":     func(a args) error { return s.n.Tree.Remove(s.ctx, a.who, a.at(0), hemera.KindFile) },
		"rmdir":  func(a args) error { return s.n.Tree.Remove(s.ctx, a.who, a.at(0), hemera.KindDirectory) },
		"chmod":  func(a args) error { return s.n.Tree.SetMode(s.ctx, a.who, a.at(0), uint32(a.number("mode", 0))) },
		"chown": func(a args) error {
			return s.n.Tree.SetOwner(s.ctx, a.who, a.at(0), a.number("uid", -1), a.number("gid", -1))
		},
		"touch": func(a args) error {
			return s.n.Tree.SetTimes(s.ctx, a.who, a.at(0), time.Unix(a.number("time", 0), 0))
		},
		"setattr": func(a args) error {
			return s.n.Tree.SetXattr(s.ctx, a.who, a.at(0), a.at(1), []byte(a.at(2)), a.at(3) == "new")
		},
		"rmattr":  func(a args) error { return s.n.Tree.RemoveXattr(s.ctx, a.who, a.at(0), a.at(1)) },
		"prepare": s.prepare,
		"commit": func(a args) error {
			c := s.commits[a.at(0)]
			c.Size, c.Force = a.number("size", 100), a.at(1) == "force"
			c.Pieces = c.Pieces[:a.number("pieces", 2)]
			e, err := s.n.Writes.Commit(s.ctx, c)
			if err == nil {
				s.show(e)
			}
			return err
		},
		"move": func(a args) error {
			return s.n.Pieces.MovePieces(s.ctx, namespace.PieceMove{File: hemera.FileID(a.number("fid", 0)), Gen: hemera.Generation(a.number("gen", 1)), Drop: piece(a, "drop"), Add: piece(a, "add")})
		},
		"forget": func(a args) error {
			id := hemera.DiskID(a.number("id", 1))
			pieces, err := s.n.Pieces.Unlinked(s.ctx, id, 100)
			return errors.Join(err, s.n.Pieces.ConfirmRemoved(s.ctx, id, pieces))
		},
		"restart": func(args) error {
			err := s.n.Close()
			s.start()
			return err
		},
	}
}

// prepare takes a word for the commit, a path, and options: exclusive, parents, update.
func (s *stage) prepare(a args) error {
	r := hemera.OpenRequest{Path: a.at(1), Access: hemera.AccessCreate, Mode: 0o644,
		Exclusive: slices.Contains(a.plain, "exclusive"), Parents: slices.Contains(a.plain, "parents")}
	if slices.Contains(a.plain, "update") {
		r.Access = hemera.AccessUpdate
	}
	p, err := s.n.Writes.Prepare(s.ctx, a.who, r)
	if err != nil {
		return err
	}
	s.commits[a.at(0)] = commitOf(p, a.at(1), a.who)
	s.say("fid=%s gen=%d existing=%t parent=%s", p.ID, p.Gen, p.Existing, p.Parent.ID)
	for _, name := range slices.Sorted(maps.Keys(p.Attrs.Sys)) {
		s.say("  %s=%s", name, p.Attrs.Sys[name])
	}
	return nil
}

// piece reads "index.disk".
func piece(a args, key string) []hemera.Piece {
	index, disk, ok := strings.Cut(a.named[key], ".")
	if !ok {
		return nil
	}
	i, _ := strconv.Atoi(index)
	d, _ := strconv.Atoi(disk)
	return []hemera.Piece{{Index: uint8(i), Disk: hemera.DiskID(d)}}
}

func ids(entries []hemera.Entry) []hemera.FileID {
	var out []hemera.FileID
	for _, e := range entries {
		out = append(out, e.ID)
	}
	return out
}

func (s *stage) show(e hemera.Entry) {
	line := fmt.Sprintf("%q fid=%s mode=%04o %d:%d mtime=%d ctime=%d", e.Name, e.ID, e.Mode, e.UID, e.GID, e.Mtime.Unix(), e.Ctime.Unix())
	if e.IsDir() {
		line += fmt.Sprintf(" tree=%+v", e.Tree)
	} else {
		line += fmt.Sprintf(" size=%d gen=%d %s pieces=%v", e.Size, e.Gen, e.Layout, e.Pieces)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Xattrs)) {
		line += fmt.Sprintf(" %s=%s", name, e.Xattrs[name])
	}
	s.say("%s", line)
}
