package lifecycle

import (
	"testing"
	"time"

	"hemera/words/hemera"
)

// The newest order for a file decides, even if it has ended.
func TestTheNewestOrderDecides(t *testing.T) {
	at := func(n int) time.Time { return time.Unix(int64(1000+n), 0) }
	ask := func(id uint64, root hemera.FileID, given, ended int) Order {
		o := Order{Request: id, Root: root, Given: at(given), Form: hemera.Form{Space: "here"}}
		if ended > 0 {
			o.Ended = at(ended)
		}
		return o
	}
	rule := func(dir hemera.FileID, given int) Order {
		return Order{Root: dir, Given: at(given), Form: hemera.Form{Space: "there"}}
	}
	// File 9 is in directory 3, which is in 2, which is in 1.
	const file, other = hemera.FileID(9), hemera.FileID(4)
	above := []hemera.FileID{1, 2, 3}
	for _, c := range []struct {
		what    string
		written int
		orders  []Order
		request uint64 // that decides; 0 for rules
		none    bool
	}{
		{"nothing was asked for", 0, nil, 0, true},
		{"about another tree", 0, []Order{ask(1, other, 1, 0)}, 0, true},
		{"one request", 0, []Order{ask(1, 2, 1, 0)}, 1, false},
		{"of the file itself", 0, []Order{ask(1, 1, 1, 0), ask(2, file, 2, 0)}, 2, false},
		{"of one tree, in any order", 0, []Order{ask(5, 2, 5, 0), ask(4, 2, 4, 0)}, 5, false},
		{"a part after the tree", 0, []Order{ask(1, 1, 1, 0), ask(2, 3, 2, 0)}, 2, false},
		{"the tree after a part", 0, []Order{ask(1, 3, 1, 0), ask(2, 1, 2, 0)}, 2, false},
		{"a newer one that ended, was stopped or failed", 0, []Order{ask(1, 2, 1, 0), ask(2, 2, 2, 3)}, 2, false},
		{"a newer one elsewhere", 0, []Order{ask(1, 2, 1, 0), ask(2, other, 2, 0)}, 1, false},
		{"in one second", 0, []Order{ask(1, 2, 1, 0), ask(2, 2, 1, 0)}, 2, false},
		{"about another part of the form", 0, []Order{ask(1, 2, 1, 0), {Request: 2, Root: 2, Given: at(2), Form: hemera.Form{Checksum: hemera.SHA256}}}, 1, false},
		{"rules alone", 0, []Order{rule(2, 1)}, 0, false},
		{"a request after the rules", 0, []Order{rule(2, 1), ask(1, 1, 2, 0)}, 1, false},
		{"and done", 0, []Order{rule(2, 1), ask(1, 1, 2, 3)}, 1, false},
		{"and written again while it was worked on", 3, []Order{rule(2, 1), ask(1, 1, 2, 4)}, 1, false},
		{"and written again when it was done", 5, []Order{rule(2, 1), ask(1, 1, 2, 4)}, 0, false},
		{"rules after the request", 0, []Order{ask(1, 1, 1, 0), rule(2, 2)}, 0, false},
		{"rules of nobody knows when", 0, []Order{{Root: 2, Form: hemera.Form{Space: "there"}}, ask(1, 1, 1, 0)}, 1, false},
		{"a request between two rules", 0, []Order{rule(1, 1), ask(1, 1, 2, 0), rule(3, 3)}, 0, false},
	} {
		got, found := Deciding(hemera.Entry{ID: file, Mtime: at(c.written)}, above, hemera.Form{Space: "anywhere"}, c.orders)
		if found == c.none || found && got.Request != c.request {
			t.Errorf("%s: %+v, %v", c.what, got, found)
		}
	}
}

// An order that is replaced in one part of a form keeps the other parts.
func TestPartsThatAreLeftOfAnOrder(t *testing.T) {
	const file = hemera.FileID(9)
	whole := hemera.Form{Layout: hemera.ReedSolomon(4, 2), BlockSize: 1 << 20, Space: "archive", Checksum: hemera.SHA256}
	for _, c := range []struct {
		what  string
		newer hemera.Form
		left  hemera.Form
		by    uint64
	}{
		{"nothing newer", hemera.Form{}, whole, 0},
		{"a layout", hemera.Form{Layout: hemera.Replica(3)}, hemera.Form{Space: "archive", Checksum: hemera.SHA256}, 2},
		{"a block size", hemera.Form{BlockSize: 4096}, hemera.Form{Space: "archive", Checksum: hemera.SHA256}, 2},
		{"a space", hemera.Form{Space: "other"}, hemera.Form{Layout: whole.Layout, BlockSize: 1 << 20, Checksum: hemera.SHA256}, 2},
		{"a checksum", hemera.Form{Checksum: hemera.MD5}, hemera.Form{Layout: whole.Layout, BlockSize: 1 << 20, Space: "archive"}, 2},
		{"all of it", hemera.Form{Layout: hemera.Replica(2), Space: "x", Checksum: hemera.MD5}, hemera.Form{}, 2},
	} {
		left, by := Left(hemera.Entry{ID: file}, nil, whole, 1, []Order{{Request: 1, Root: file, Form: whole}, {Request: 2, Root: file, Form: c.newer}})
		if left != c.left || by.Request != c.by {
			t.Errorf("%s: left %v, by %d", c.what, left, by.Request)
		}
	}
}
