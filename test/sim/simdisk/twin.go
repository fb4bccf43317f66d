package simdisk

import (
	"hemera/rules/layout"
	"hemera/words/hemera"
)

// Joined returns the content of a file from its data pieces, block by block; nil if one of them is missing.
func Joined(l hemera.Layout, size int64, pieces map[uint8][]byte) []byte {
	var content []byte
	for block := 0; int64(len(content)) < size; block++ {
		column := uint8(block % int(l.Data))
		b, ok := pieces[column]
		from := min(block/int(l.Data)*int(l.BlockSize), len(b))
		if !ok {
			return nil
		}
		content = append(content, b[from:min(from+int(l.BlockSize), len(b))]...)
		if from == len(b) {
			break // too short, which the oracle sees
		}
	}
	return content
}

// Cut makes all pieces of a content: the slow twin of what a head does. Rows are coded one by one, with zeros behind the end.
// A parity ends where the longest of the columns ends that it changes with.
func Cut(l hemera.Layout, content []byte) ([][]byte, error) {
	code, err := layout.Code(l)
	if err != nil {
		return nil, err
	}
	block, data := int(l.BlockSize), int(l.Data)
	pieces, ends := make([][]byte, l.Pieces), make([]int, l.Pieces)
	for row := content; len(row) > 0; row = row[min(len(row), block*data):] {
		blocks := make([][]byte, l.Pieces)
		for i := range blocks {
			blocks[i] = make([]byte, block)
			if i < data {
				ends[i] += copy(blocks[i], row[min(len(row), i*block):min(len(row), (i+1)*block)])
			}
		}
		if code != nil {
			if err := code.Encode(blocks); err != nil {
				return nil, err
			}
		}
		for i := range pieces {
			pieces[i] = append(pieces[i], blocks[i]...)
		}
	}
	for i := range data {
		if code == nil {
			break
		}
		for parity := range code.Affected(i).All() {
			ends[parity] = max(ends[parity], ends[i])
		}
	}
	for i := range pieces {
		pieces[i] = pieces[i][:ends[i]]
	}
	return pieces, nil
}
