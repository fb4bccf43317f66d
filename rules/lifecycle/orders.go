package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"hemera/words/hemera"
)

// Order says in which form to store files. It is a request for a file or a tree, or the rules of a directory.
type Order struct {
	Request uint64        // its id, which grows with each request; 0 for rules
	Root    hemera.FileID // the file, or the directory of the files
	Given   time.Time     // when it was made, or when the rules were last changed; zero: long ago, not recorded
	Ended   time.Time     // of a request: when work on it ended; zero while it is active
	Form    hemera.Form   // the wanted form; for rules, that of the rule that applies to the file
}

// undoes reports whether the order and a form name the same part, so that both cannot apply. A block size is a part of a
// layout.
func (o *Order) undoes(f hemera.Form) bool {
	shape := func(f hemera.Form) bool { return f.Layout.Kind != 0 || f.BlockSize != 0 }
	return shape(o.Form) && shape(f) || o.Form.Space != "" && f.Space != "" || o.Form.Checksum != hemera.ChecksumNone && f.Checksum != hemera.ChecksumNone
}

// Deciding returns the order that decides about the parts of a form for a file: the newest one that applies to the file
// and names one of these parts. above has the directories above the file. Rules are an order only if one of them applies
// to the file now. found is false if there is no such order.
//
// A request that ended still decides, whatever its result: older ones do not apply again to the same files. But it does
// not apply to contents that were written after its end, so rules apply to these.
func Deciding(e hemera.Entry, above []hemera.FileID, form hemera.Form, orders []Order) (newest Order, found bool) {
	written := later(e.Mtime, e.Birth)
	var request, rules *Order
	for i := range orders {
		o := &orders[i]
		switch {
		case o.Root != e.ID && !slices.Contains(above, o.Root), !o.undoes(form):
		// Compare ids, not times: ids are in the order in which the requests came.
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

// Left returns the parts of an order's form about which no newer order decides for a file. by is the newest order that
// decides about one of the other parts, or the zero Order. request is the order's id, 0 for rules.
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

// Holds returns the form of the first rule that applies to the file now, whatever form the file has; false if there is
// none. since has the meaning that it has in [Rules.Decide].
func (r Rules) Holds(e hemera.Entry, since, now time.Time) (hemera.Form, bool) {
	for _, one := range r.convert.rules {
		if at, ok := one.due(e, since); ok && !at.After(now) {
			return one.form, true
		}
	}
	return hemera.Form{}, false
}
