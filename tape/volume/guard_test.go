package volume_test

import (
	"errors"
	"testing"

	"hemera/tape/volume"
)

// session writes files with some archive ids, and an index behind them unless it ends before.
func session(t *testing.T, v *volume.Volume, known volume.Known, index bool, ids ...uint64) volume.Last {
	t.Helper()
	a, err := v.Append(t.Context(), known)
	if err != nil {
		t.Fatal(err)
	}
	last := known.Last
	for _, id := range ids {
		w := put(t, a, id, 1000, 1000)
		last = volume.Last{FSeq: w.FSeq, ArchiveID: id}
	}
	if index {
		w, _, err := a.Index(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		last = volume.Last{FSeq: w.FSeq, ArchiveID: w.ArchiveID}
	}
	if err := a.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	return last
}

// TestNothingThatMayHaveBeenReportedIsWrittenOver: the tape is the witness, whatever the catalogue says.
func TestNothingThatMayHaveBeenReportedIsWrittenOver(t *testing.T) {
	for _, c := range []struct {
		name    string
		behind  func(t *testing.T, v *volume.Volume, at volume.Last)
		refused bool
	}{
		{"nothing", func(*testing.T, *volume.Volume, volume.Last) {}, false},
		{"files without an index", func(t *testing.T, v *volume.Volume, at volume.Last) {
			session(t, v, volume.Known{Last: at}, false, 21, 22)
		}, false},
		{"files and their index", func(t *testing.T, v *volume.Volume, at volume.Last) {
			session(t, v, volume.Known{Last: at}, true, 21, 22)
		}, true},
		{"an index, and files of a session that was cut", func(t *testing.T, v *volume.Volume, at volume.Last) {
			session(t, v, volume.Known{Last: session(t, v, volume.Known{Last: at}, true, 21)}, false, 22)
		}, true},
		{"a file of another program", func(t *testing.T, v *volume.Volume, at volume.Last) {
			session(t, v, volume.Known{Last: at}, false, 21)
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, v := labelled(t)
			at := session(t, v, volume.Known{}, true, 1, 2)
			other := v
			if c.name == "a file of another program" {
				w := writer()
				w.System = "CTA 5.11"
				var err error
				if other, err = volume.Open(t.Context(), m, vid, w); err != nil {
					t.Fatal(err)
				}
			}
			c.behind(t, other, at)
			objects := len(m.Objects())
			for _, again := range []string{"known place", "rewound"} {
				if again == "rewound" {
					var err error
					if v, err = volume.Open(t.Context(), m, vid, writer()); err != nil {
						t.Fatal(err)
					}
				}
				_, err := v.Append(t.Context(), volume.Known{Last: at})
				if refused := errors.Is(err, volume.ErrUnscanned); refused != c.refused || err != nil && !refused {
					t.Errorf("%s: %v", again, err)
				}
			}
			if len(m.Objects()) != objects {
				t.Errorf("%d objects, before %d", len(m.Objects()), objects)
			}
			if !c.refused {
				session(t, v, volume.Known{Last: at}, true, 31)
			}
		})
	}
}

// TestAnEmptyCatalogueOfATapeWithFiles: what was reclaimed goes, and nothing else.
func TestAnEmptyCatalogueOfATapeWithFiles(t *testing.T) {
	m, v := labelled(t)
	last := session(t, v, volume.Known{}, true, 1, 2, 3)
	objects := len(m.Objects())
	for _, known := range []volume.Known{{}, {Reclaimed: volume.Last{FSeq: last.FSeq, ArchiveID: 9}}, {Reclaimed: volume.Last{FSeq: 40, ArchiveID: 9}}} {
		if _, err := v.Append(t.Context(), known); !errors.Is(err, volume.ErrUnscanned) || len(m.Objects()) != objects {
			t.Errorf("%+v: %v", known, err)
		}
	}
	second := session(t, v, volume.Known{Reclaimed: last}, true, 11)
	if second.FSeq != 2 || len(m.Objects()) >= objects {
		t.Errorf("%+v, %d objects", second, len(m.Objects()))
	}
	// The same store put back: it reclaimed the tape, and does not know that it was written since.
	if _, err := v.Append(t.Context(), volume.Known{Reclaimed: last}); !errors.Is(err, volume.ErrUnscanned) {
		t.Error(err)
	}
}
