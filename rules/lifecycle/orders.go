package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"hemera/words/hemera"
)

// Order says in which form files are to be stored: a request for a file or a tree, or the rules of a directory.
type Order struct {
	Request uint64        // its id, which grows with each request; 0: rules
	Root    hemera.FileID // the file, or the directory whose files are meant
	Given   time.Time     // when it was asked for, or the rules were changed last; zero: nobody knows, long ago
	Ended   time.Time     // of a request: it is not worked on any more; zero while it is
	Form    hemera.Form   // that is asked for; of rules that of the one that holds for the file
}

// undoes reports whether two orders cannot both hold: they name the same part of a form. A block size is a part of a layout.
func (o *Order) undoes(f hemera.Form) bool {
	shape := func(f hemera.Form) bool { return f.Layout.Kind != 0 || f.BlockSize != 0 }
	return shape(o.Form) && shape(f) || o.Form.Space != "" && f.Space != "" || o.Form.Checksum != hemera.ChecksumNone && f.Checksum != hemera.ChecksumNone
}

// Deciding returns the order that decides about the parts of a form for a file: the newest one that is about the file and names one of
// these parts. above are the directories that the file is below. Rules are an order only where one of them holds for the file now. False if
// no order is about it.
//
// A request that ended still decides, whatever became of it: older ones do not come back for the same files. But it says nothing of
// contents that were written after its end, so that rules hold for these.
func Deciding(e hemera.Entry, above []hemera.FileID, form hemera.Form, orders []Order) (newest Order, found bool) {
	written := later(e.Mtime, e.Birth)
	var request, rules *Order
	for i := range orders {
		o := &orders[i]
		switch {
		case o.Root != e.ID && !slices.Contains(above, o.Root), !o.undoes(form):
		// By id and not by time: ids are in the order in which the requests came.
		case o.Request != 0 && (request == nil || o.Request > request.Request):
			request = o
		case o.Request == 0 && (rules == nil || !o.Given.Before(rules.Given)):
			rules = o
		}
	}
	switch {
	case request == nil && rules == nil:
		return newest, false
	case request == nil:
		return *rules, true
	case rules != nil && (rules.Given.After(request.Given) || !request.Ended.IsZero() && written.After(request.Ended)):
		return *rules, true
	}
	return *request, true
}

// Left returns the parts of the form of an order about which no newer order decides for a file, and the newest order that decides about one of
// the others; the zero Order if there is none. Request is the order's id, 0 for rules.
func Left(e hemera.Entry, above []hemera.FileID, form hemera.Form, request uint64, orders []Order) (left hemera.Form, by Order) {
	for _, part := range []hemera.Form{{Layout: form.Layout, BlockSize: form.BlockSize}, {Space: form.Space}, {Checksum: form.Checksum}} {
		if newest, found := Deciding(e, above, part, orders); found && newest.Request != request {
			by = newest
			continue
		}
		left.Layout, left.BlockSize = cmp.Or(left.Layout, part.Layout), cmp.Or(left.BlockSize, part.BlockSize)
		left.Space, left.Checksum = cmp.Or(left.Space, part.Space), cmp.Or(left.Checksum, part.Checksum)
	}
	return left, by
}

// Holds returns the form of the first rule that holds for the file now, whatever form the file has; false if there is none. since is as in
// [Rules.Decide].
func (r Rules) Holds(e hemera.Entry, since, now time.Time) (hemera.Form, bool) {
	for _, one := range r.convert.rules {
		if at, ok := one.due(e, since); ok && !at.After(now) {
			return one.form, true
		}
	}
	return hemera.Form{}, false
}
