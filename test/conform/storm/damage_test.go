package storm

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"hemera/client/pieces"
	"hemera/platform/vfs"
	"hemera/rules/layout"
	"hemera/words/hemera"
)

// damager flips bits in pieces and removes pieces, behind the back of their nodes.
type damager struct {
	c    *cluster
	rng  *rand.Rand
	done map[string]bool // contents that were damaged: each is only once
}

// classes count the flipped bits by their place in the file of a piece.
type classes map[string]int

// found are the sealed pieces of one content, by index.
type found struct {
	files  map[uint8]string
	checks map[uint8]pieces.Checked
}

// sealed returns all files of pieces, on all disks.
func (c *cluster) sealed() (list []string) {
	for i := range nodes {
		match, _ := filepath.Glob(filepath.Join(c.disk(i), "pieces", "*", "*.*.*"))
		for _, name := range match {
			if filepath.Base(filepath.Dir(name)) != "pending" {
				list = append(list, name)
			}
		}
	}
	return list
}

// contentOf returns the part of a piece's name that all pieces of a content share.
func contentOf(name string) string {
	base := filepath.Base(name)
	return base[:strings.LastIndexByte(base, '.')]
}

// strike damages one content as far as its layout survives that. It adds to what was damaged so far.
func (d *damager) strike(hit classes) {
	all := d.c.sealed()
	if len(all) == 0 {
		return
	}
	id := contentOf(all[d.rng.IntN(len(all))])
	if d.done[id] {
		return
	}
	f := d.good(all, id)
	var left layout.Set
	var stat hemera.PieceStat
	var indexes []uint8
	for index, check := range f.checks {
		left, stat = left.With(int(index)), check.Stat
		indexes = append(indexes, index)
	}
	d.rng.Shuffle(len(indexes), func(i, j int) { indexes[i], indexes[j] = indexes[j], indexes[i] })
	for _, index := range indexes {
		rest := left.Without(int(index))
		if !layout.Readable(stat.Layout, stat.FileSize, rest) || d.rng.IntN(4) == 0 {
			continue
		}
		// Noted first, so that nothing is damaged twice if this is cut short.
		d.done[id] = true
		if class := d.damage(f.files[index], f.checks[index].Stat); class != "" {
			hit[class]++
			left = rest
		}
	}
}

// good returns the pieces of a content that are whole.
func (d *damager) good(all []string, id string) found {
	f := found{files: map[uint8]string{}, checks: map[uint8]pieces.Checked{}}
	for _, name := range all {
		if contentOf(name) != id {
			continue
		}
		check, err := pieces.Check(context.Background(), vfs.OS{}, name, nil)
		if err == nil && check.Good() {
			f.files[check.Stat.ID.Index], f.checks[check.Stat.ID.Index] = name, check
		}
	}
	return f
}

// damage flips a bit of the piece, or removes it, and returns which class of bytes that was; "" if it is gone meanwhile.
func (d *damager) damage(name string, stat hemera.PieceStat) string {
	const trailer = 20 // length of the end of a footer
	b, err := os.ReadFile(name)
	if err != nil || int64(len(b)) < stat.Size+trailer {
		return ""
	}
	number := (stat.Size + hemera.PageSize - 1) / hemera.PageSize
	table := number * hemera.PageSize
	footer := table + 4*(number+(number+1022)/1023)
	end := int64(len(b))
	role := "parity"
	if _, data := layout.Column(stat.Layout, stat.ID.Index); data {
		role = "data"
	}
	within := func(from, to int64) int64 { return from + d.rng.Int64N(max(1, to-from)) }
	class, at := "page", within(0, stat.Size)
	switch d.rng.IntN(8) {
	case 0:
		class, at = "table", within(table, footer)
	case 1:
		class, at = "footer head", within(footer, footer+51)
	case 2:
		class, at = "footer sums", within(footer+51+int64(len(stat.Path)), end-trailer)
	case 3:
		class, at = "trailer", within(end-trailer, end)
	case 4:
		if os.Remove(name) != nil {
			return ""
		}
		return role + " missing"
	}
	f, err := os.OpenFile(name, os.O_WRONLY, 0)
	if err != nil {
		return ""
	}
	defer f.Close()
	if _, err := f.WriteAt([]byte{b[at] ^ 1<<d.rng.IntN(8)}, at); err != nil {
		return ""
	}
	return role + " " + class
}

// bad returns the sealed pieces that are not whole.
func (c *cluster) bad() (list []string) {
	for _, name := range c.sealed() {
		check, err := pieces.Check(context.Background(), vfs.OS{}, name, nil)
		if err != nil || !check.Good() {
			if _, gone := os.Stat(name); gone == nil {
				list = append(list, name)
			}
		}
	}
	return list
}
