package tier_test

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"hemera/namespace"
	"hemera/platform/kv/memkv"
	"hemera/words/adminapi"
	"hemera/words/hemera"
	"hemera/words/tapeapi"
)

// wentBack runs a test with a site whose namespace was made of a backup of a time, or made again if that is zero. Its library has a cartridge that the
// catalogue does not have.
func wentBack(t *testing.T, taken time.Time, test func(s *site)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		store := memkv.New()
		before, err := namespace.Open(t.Context(), store, namespace.Options{})
		if err == nil {
			err = before.Close()
		}
		if err != nil {
			t.Fatal(err)
		}
		w, err := store.Acquire(t.Context(), "restore")
		if err == nil {
			_, err = namespace.Restored(t.Context(), store, w, taken, time.Now())
		}
		if err != nil {
			t.Fatal(err)
		}
		s := openOn(t, store)
		s.state.VIDs["CCC001"] = "LTO-9"
		s.report()
		time.Sleep(time.Second) // scans end later than the restore
		test(s)
	})
}

// unscanned returns the tapes that a namespace that went back is not to forget.
func (s *site) unscanned() string {
	s.Helper()
	vids, command, err := s.tier.Reports.Unscanned(s.Context())
	s.good(err)
	var names []string
	for _, vid := range vids {
		names = append(names, string(vid))
	}
	return strings.Join(names, " ") + ": " + command
}

// TestTapesOfALibraryAreScannedAfterARebuild: a namespace that was made again knows no tape, so those of its libraries may have its files, whether an
// admin or the library added them or nobody did.
func TestTapesOfALibraryAreScannedAfterARebuild(t *testing.T) {
	wentBack(t, time.Time{}, func(s *site) {
		if got := s.unscanned(); got != "AAA001 BBB001 CCC001: hemera tape scan --all" {
			t.Fatal(got)
		}
		p, err := s.tier.Reports.TapePicture(s.Context())
		s.good(err)
		if !slices.ContainsFunc(p.Attention, func(a tapeapi.Attention) bool {
			return a.Subject == "cartridges CCC001" && a.Command == "hemera tape scan --all" && strings.Contains(a.What, "files that only they have are not in the tree")
		}) {
			t.Errorf("%+v", p.Attention)
		}
		s.orders(adminapi.TapeOrder{Kind: adminapi.OrderScan})
		for _, vid := range []hemera.VID{"AAA001", "BBB001", "CCC001"} {
			m := s.scanMount("d1", vid)
			s.tells(m, true)
			s.ends(m, "")
		}
		if got := s.unscanned(); got != ": hemera tape scan --needed" {
			t.Error(got)
		}
		if a := strings.Join(s.attention(), "\n"); strings.Contains(a, "scanned") {
			t.Error(a)
		}
	})
}

// TestCartridgesBesideACatalogueOfABackup may be of others: they are named, and a person says which are scanned.
func TestCartridgesBesideACatalogueOfABackup(t *testing.T) {
	wentBack(t, time.Date(1999, 12, 1, 0, 0, 0, 0, time.UTC), func(s *site) {
		if got := s.unscanned(); got != "AAA001 BBB001: hemera tape scan --needed" {
			t.Error(got)
		}
		before := s.unscanned()
		s.start() // its libraries are not heard of yet
		if got := s.unscanned(); got != before {
			t.Errorf("right after a start: %s", got)
		}
		s.report()
		if a := strings.Join(s.attention(), "\n"); !strings.Contains(a, "cartridges CCC001") || !strings.Contains(a, "scan those that were added after the backup") {
			t.Error(a)
		}
	})
}
