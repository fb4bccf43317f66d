package meter

import (
	"math"
	"testing"
)

// FuzzParsePower: a power is a number, or an error.
func FuzzParsePower(f *testing.F) {
	f.Add("Instantaneous power reading:   120 Watts\nPower reading state is: activated\n")
	f.Fuzz(func(t *testing.T, text string) {
		if w, err := ParseDCMI(text); err == nil && (math.IsNaN(w) || math.IsInf(w, 0)) {
			t.Errorf("%q is %g W", text, w)
		}
	})
}
