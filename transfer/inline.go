package transfer

import (
	"context"

	"hemera/rules/checksum"
	"hemera/transfer/filesum"
	"hemera/transfer/piece"
	"hemera/words/errs"
)

// inlineContent is a content that is in memory alone, none of it at first. Before it goes to any disk it is compared
// with the checksums that it came with.
type inlineContent struct {
	*inlineBuffer // nil while it is empty
	head          *head
}

// grow takes the memory for a content of size bytes. It returns false if that cannot stay in memory.
func (c *inlineContent) grow(size int64) bool {
	if size > inlineMax || c.head.cap.Size > inlineMax {
		return false
	}
	have := int64(0)
	if c.inlineBuffer != nil {
		have = int64(cap(c.Data))
	}
	// Classes double, so a file that grows in small steps is copied a few times at most.
	need, _ := classSize(size)
	if need <= have {
		return true
	}
	memory := &c.head.writes.inline
	if !memory.Reserve(need-have, c.head.writes.SmallBytes) {
		return false
	}
	before := c.inlineBuffer
	// The pool gives buffers of the right class; the old one goes back, as nothing but this write has seen it.
	c.inlineBuffer = memory.Get(size)
	if before != nil {
		c.Data = append(c.Data, before.Data...)
		c.Sums = append(c.Sums, before.Sums...)
		memory.Put(before)
	}
	return true
}

// writePages implements content. grow has made room.
func (c *inlineContent) writePages(p []byte, sums []uint32, off int64, hash *filesum.Stream) error {
	hash.Wrote(p, sums, off)
	c.Write(p, sums, off)
	return nil
}

// truncate implements content. grow has made room.
func (c *inlineContent) truncate(size int64) error {
	if size == 0 {
		c.drop()
		return nil
	}
	c.Resize(size)
	c.Sum()
	return nil
}

// readPages implements content.
func (c *inlineContent) readPages(p []byte, sums []uint32, off int64) (int, error) {
	if c.inlineBuffer == nil {
		return 0, nil
	}
	n := copy(p, c.Data[min(off, int64(len(c.Data))):])
	if sums != nil {
		checksum.PageSums(p[:n], off, sums)
	}
	return n, nil
}

// nextData implements content: what is in memory is data.
func (c *inlineContent) nextData(off int64) (int64, error) { return off, nil }

// sync has nothing to do: a content that is not empty spills first.
func (c *inlineContent) sync(context.Context) error { return nil }

// drop releases the memory. Others may not use it, as a call that is stuck may still read it.
func (c *inlineContent) drop() {
	if c.inlineBuffer != nil {
		c.head.writes.inline.Release(int64(cap(c.Data)))
		c.inlineBuffer = nil
	}
}

// recycle releases the memory for other writes to use: no call reads it any more.
func (c *inlineContent) recycle() {
	buffer := c.inlineBuffer
	c.drop()
	if buffer != nil {
		c.head.writes.inline.Put(buffer)
	}
}

// check finds what has changed in memory.
func (c *inlineContent) check() error {
	if c.inlineBuffer == nil {
		return nil
	}
	if bad := checksum.VerifyPages(c.Data, 0, c.Sums); bad >= 0 {
		return errs.New(errs.IO, "transfer.Write", piece.Subject(c.head.cap), "the content changed in memory while it waited to be written").
			WithRemedy("write the file again; the memory of this machine may be faulty")
	}
	return nil
}
