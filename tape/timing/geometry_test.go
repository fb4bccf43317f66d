package timing

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

func media(t *testing.T, name string) Media {
	t.Helper()
	m, ok := MediaOfName(name)
	if !ok {
		t.Fatalf("%s is not in the table", name)
	}
	return m
}

// TestLocateAverages: the sources are IBM's TS2290 user's guide, table "performance", and the fit of CTA, whose average is 48 s.
func TestLocateAverages(t *testing.T) {
	for _, m := range Medias() {
		r := rand.New(rand.NewPCG(1, 2))
		const count = 20_000
		var locate, random, rewind float64
		for range count {
			a, b := m.Place(r.Int64N(m.Capacity)), m.Place(r.Int64N(m.Capacity))
			locate += m.Geometry.Locate(m.Place(0), a).Seconds() / count
			random += m.Geometry.Locate(a, b).Seconds() / count
			rewind += m.Rewound(a).Seconds() / count
		}
		near := func(what string, got, want float64) {
			if math.Abs(got-want) > want/6 {
				t.Errorf("%s: %s takes %.1f s on average, published are %.1f s", m.Name, what, got, want)
			}
		}
		near("a locate from the beginning", locate, m.Locate.Seconds())
		near("a rewind", rewind, m.Rewind.Short.Seconds())
		if m.Name == "LTO-8" && math.Abs(random-48) > 1 {
			t.Errorf("a random locate takes %.1f s on average, want 48 s", random)
		}
	}
}

func TestLocateTerms(t *testing.T) {
	g := media(t, "LTO-8").Geometry
	for _, test := range []struct {
		name     string
		from, to Place
		want     float64 // seconds
	}{
		{"there already", Place{7, 10_000}, Place{7, 10_000}, 0},
		{"ahead on an even wrap", Place{2, 10_000}, Place{2, 20_000}, 4.29 + 6.192},
		{"back on an even wrap", Place{2, 20_000}, Place{2, 10_000}, 4.29 + 11.32 + 6.192},
		{"ahead on an odd wrap", Place{3, 20_000}, Place{3, 10_000}, 4.29 + 6.192},
		{"back on an odd wrap", Place{3, 10_000}, Place{3, 20_000}, 4.29 + 11.32 + 6.192},
		{"a wrap of the same direction", Place{2, 10_000}, Place{4, 10_000}, 4.29 + 6.69},
		{"a wrap of the other direction", Place{2, 10_000}, Place{3, 10_000}, 4.29 + 6.69 + 5.22},
		{"another band", Place{2, 10_000}, Place{60, 10_000}, 4.29 + 6.69 + 3.2},
		{"the other half", Place{2, 10_000}, Place{4, 110_000}, 4.29 + 6.69 - 6.04 + 61.92},
		{"over the middle: never faster than winding", Place{2, 86_000}, Place{2, 87_000}, 0.6192},
	} {
		if got := g.Locate(test.from, test.to).Seconds(); math.Abs(got-test.want) > 1e-6 {
			t.Errorf("%s: %.4f s, want %.4f s", test.name, got, test.want)
		}
	}
}

// FuzzLocate: no locate is negative or takes longer than a few minutes, and between wraps there and back take the same.
func FuzzLocate(f *testing.F) {
	f.Add(int64(0), int64(1), int64(1<<40), uint8(0))
	f.Add(int64(-5), int64(math.MaxInt64), int64(1), uint8(3))
	f.Fuzz(func(t *testing.T, a, b, capacity int64, kind uint8) {
		m := Medias()[int(kind)%len(Medias())].WithCapacity(capacity)
		from, to := m.Place(a), m.Place(b)
		for _, p := range []Place{from, to} {
			if p.Wrap < 0 || p.Wrap >= m.Wraps || p.LPOS < m.LPOSMin || p.LPOS > m.LPOSMax {
				t.Fatalf("%+v is not on the tape", p)
			}
		}
		there, back := m.Geometry.Locate(from, to), m.Geometry.Locate(to, from)
		if there < 0 || there > 3*time.Minute || m.Rewound(from) < 0 {
			t.Fatal(from, to, there)
		}
		if from.Wrap != to.Wrap && there != back {
			t.Fatal(from, to, there, back)
		}
	})
}

// TestPlaceIsMonotone: bytes follow each other along the serpentine, and the ends of the tape are the ends of wraps.
func TestPlaceIsMonotone(t *testing.T) {
	m := media(t, "L9")
	if got := m.Place(0); got != (Place{0, m.LPOSMin}) {
		t.Error(got)
	}
	// 280 is even: the last wrap ends where the tape begins.
	if got := m.Place(m.Capacity - 1); got.Wrap != 279 || got.LPOS > m.LPOSMin+1 {
		t.Error(got)
	}
	last := m.Place(0)
	for i := int64(1); i < 100_000; i++ {
		p := m.Place(m.Capacity / 100_000 * i)
		if p.Wrap < last.Wrap || p.Wrap == last.Wrap && (p.LPOS > last.LPOS) != (p.Wrap%2 == 0) {
			t.Fatal(last, p)
		}
		last = p
	}
}

func TestBandsAreEqual(t *testing.T) {
	for _, m := range Medias() {
		count := make([]int, m.Bands)
		for w := range m.Wraps {
			count[m.band(w)]++
		}
		for _, c := range count {
			if c != m.Wraps/4 {
				t.Errorf("%s: %v", m.Name, count)
			}
		}
	}
}

// TestUnloading: 62, 124 and 186 s of rewind after the published limits.
func TestUnloading(t *testing.T) {
	m := media(t, "LTO-9")
	for _, test := range []struct{ moved, want int64 }{{0, 118}, {5e9 - 1, 118}, {5e9, 180}, {50e9, 242}, {18e12, 242}} {
		if got := m.Unloading(test.moved); got != time.Duration(test.want)*time.Second {
			t.Errorf("after %d bytes: %v, want %d s", test.moved, got, test.want)
		}
	}
}
