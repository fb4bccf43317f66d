package emulated

import (
	"testing"

	"hemera/tape/device"
	"hemera/tape/device/tapetest"
)

func TestContract(t *testing.T) {
	for _, test := range []struct {
		name string
		o    Options
	}{{"Plain", Options{NoSync: true}}, {"Fast clock", Options{NoSync: true, TimeScale: 1e-6}}} {
		t.Run(test.name, func(t *testing.T) {
			tapetest.Run(t, func(t *testing.T) tapetest.Library {
				l := open(t, Spec{Capacity: 64 << 20}, test.o)
				return tapetest.Library{
					Drive: l.Drives()[0], Changer: l.Changer(), DriveAddress: addressDrive, Slot: addressSlot, Small: true,
					Protect: func(t *testing.T) {
						if err := l.SetWriteProtected("V00001L9", true); err != nil {
							t.Fatal(err)
						}
					},
				}
			})
		})
	}
	var _ device.Changer = (*arm)(nil)
}
