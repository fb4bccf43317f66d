package piece

import (
	"sync"

	"hemera/rules/erasure"
	"hemera/rules/layout"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// Codes keeps the codes of coded layouts that a node has used: making one costs more than coding a small file. The zero value is ready. It is safe for concurrent use.
type Codes struct {
	mu    sync.Mutex
	known map[hemera.Layout]*erasure.Code
}

// codesMax bounds how many codes are kept.
const codesMax = 64

// Get returns the code of a layout, nil for one without parity of its own. Invalid for a layout that is not valid.
func (c *Codes) Get(l hemera.Layout) (*erasure.Code, error) {
	// Blocks of all sizes have the same code, as it works on each byte by itself.
	if l.BlockSize > 0 { // copies have none
		l.BlockSize = hemera.BlockSizeDefault
	}
	c.mu.Lock()
	code, ok := c.known[l]
	c.mu.Unlock()
	if ok {
		return code, nil
	}
	// Two callers may make the same code at once; either is kept.
	code, err := layout.Code(l)
	if err != nil {
		return nil, errs.As(err, errs.Invalid, "transfer.Open", l.String())
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil || len(c.known) >= codesMax {
		c.known = map[hemera.Layout]*erasure.Code{}
	}
	c.known[l] = code
	return code, nil
}
