package recallorder

import (
	"time"

	"hemera/tape/timing"
)

// lto9 returns the cost of a locate on LTO-9, by the model that the emulator has its times from.
func lto9() Cost {
	for _, m := range timing.Medias() {
		if m.Name == "LTO-9" {
			return func(from, to uint64) time.Duration {
				return m.Geometry.Locate(m.Geometry.Place(int64(from)*block), m.Geometry.Place(int64(to)*block))
			}
		}
	}
	panic("the model has no LTO-9")
}
