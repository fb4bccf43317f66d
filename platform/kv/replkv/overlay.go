package replkv

import (
	"bytes"
	"slices"

	"hemera/platform/kv"
)

// overlay has the batches that this process enqueued and the local engine does not have yet. It never changes; a new one replaces it.
type overlay struct {
	last    uint64   // number of the last batch that was enqueued when this overlay was made
	batches []*batch // in order of numbers
}

// batch is an enqueued batch, in order of keys, one operation for each: the last one.
type batch struct {
	seq uint64
	ops []kv.Op
}

// newBatch sorts the operations of a batch, whose slices it keeps.
func newBatch(seq uint64, ops []kv.Op) *batch {
	sorted := slices.Clone(ops)
	slices.SortStableFunc(sorted, func(a, b kv.Op) int { return bytes.Compare(a.Key, b.Key) })
	kept := sorted[:0]
	for i, op := range sorted {
		if i+1 < len(sorted) && bytes.Equal(op.Key, sorted[i+1].Key) {
			continue
		}
		kept = append(kept, op)
	}
	return &batch{seq, kept}
}

// find returns the index of the first key that is not below a key, and whether it is equal.
func (b *batch) find(key []byte) (int, bool) {
	return slices.BinarySearchFunc(b.ops, key, func(op kv.Op, key []byte) int { return bytes.Compare(op.Key, key) })
}

// with returns an overlay with one more batch.
func (o *overlay) with(b *batch) *overlay {
	return &overlay{b.seq, append(o.batches[:len(o.batches):len(o.batches)], b)}
}

// applied returns an overlay without the batches up to a number.
func (o *overlay) applied(seq uint64) *overlay {
	i := 0
	for i < len(o.batches) && o.batches[i].seq <= seq {
		i++
	}
	return &overlay{o.last, o.batches[i:]}
}

// before returns an overlay without the batches from a number on.
func (o *overlay) before(seq uint64) *overlay {
	i := len(o.batches)
	for i > 0 && o.batches[i-1].seq >= seq {
		i--
	}
	return &overlay{min(o.last, seq-1), o.batches[:i:i]}
}

// get returns the newest operation on a key.
func (o *overlay) get(key []byte) (kv.Op, bool) {
	for _, b := range slices.Backward(o.batches) {
		if i, ok := b.find(key); ok {
			return b.ops[i], true
		}
	}
	return kv.Op{}, false
}

// between returns the newest operation on each key from lo up to hi, in order of keys. A nil hi is no bound.
func (o *overlay) between(lo, hi []byte) []kv.Op {
	var all []kv.Op
	for _, b := range o.batches {
		from, _ := b.find(lo)
		to := len(b.ops)
		if hi != nil {
			to, _ = b.find(hi)
		}
		if from < to {
			all = append(all, b.ops[from:to]...)
		}
	}
	return newBatch(0, all).ops
}

// merge returns a visitor for the pairs of the local engine that passes the pairs as the operations changed them to visit, and a function that visits the
// operations behind the last pair. Both bounds were applied to the operations.
func merge(ops []kv.Op, visit func(key, value []byte) bool) (pair func(key, value []byte) bool, rest func()) {
	stopped := false
	emit := func(key, value []byte) bool {
		stopped = !visit(key, value)
		return !stopped
	}
	pair = func(key, value []byte) bool {
		for len(ops) > 0 {
			op := ops[0]
			order := bytes.Compare(op.Key, key)
			if order > 0 {
				break
			}
			ops = ops[1:]
			if order == 0 { // the operation replaces the pair
				return op.Delete || emit(key, op.Value)
			}
			if !op.Delete && !emit(op.Key, op.Value) {
				return false
			}
		}
		return emit(key, value)
	}
	rest = func() {
		for _, op := range ops {
			if stopped || !op.Delete && !emit(op.Key, op.Value) {
				return
			}
		}
	}
	return pair, rest
}
