package server

import (
	"sync"

	"hemera/tape/device"
	"hemera/tape/timing"
	"hemera/words/hemera"
)

// kinds remembers which media types cartridges are, as drives said when they loaded them. That counts more than a barcode: a label may be missing,
// or be another cartridge's. A server that starts again learns it with the next loads.
type kinds struct {
	mu     sync.Mutex
	loaded map[hemera.VID]string // media type by VID
}

// note takes what a drive says of the cartridge in it.
func (k *kinds) note(vid hemera.VID, s device.Status) {
	// A density that nobody knows is that of another kind of tape, or of a drive that does not tell.
	m, known := timing.MediaOfDensity(s.Density)
	if !known {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.loaded == nil {
		k.loaded = map[hemera.VID]string{}
	}
	k.loaded[vid] = m.Name
}

// correct puts it in place of what barcodes say.
func (k *kinds) correct(vids map[hemera.VID]string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	for vid := range vids {
		if name := k.loaded[vid]; name != "" {
			vids[vid] = name
		}
	}
}
