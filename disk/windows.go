package disk

import "os"

// windowCache is a stand-in until windows are mapped.
type windowCache struct{}

func (c *windowCache) init(int64) {}

type pieceWindows struct{}

func (w *pieceWindows) init(*piece) {}
func (w *pieceWindows) close()      {}
func (w *pieceWindows) verified(off, n int64) (*os.File, bool) {
	return nil, false
}
