package daemon

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/errs"
)

// TestLostStore: where a cluster's authority is and its store is not, no new, empty cluster begins.
func TestLostStore(t *testing.T) {
	for name, lose := range map[string]func(store string) error{
		"moved":       func(store string) error { return os.Rename(store, store+".away") },
		"not mounted": func(store string) error { return errors.Join(os.Rename(store, store+".away"), os.Mkdir(store, 0o700)) },
		"no marker": func(store string) error {
			markers, err := filepath.Glob(filepath.Join(store, "marker.manifest.*"))
			if err != nil || len(markers) != 1 {
				return errors.Join(err, errors.New(strings.Join(markers, " ")))
			}
			return os.Remove(markers[0])
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := crashed(t, 3, "")
			store := filepath.Join(dir, storeDir)
			if err := lose(store); err != nil {
				t.Fatal(err)
			}
			o := ManagerOptions{Dir: dir, Listen: "127.0.0.1:0", CacheBytes: 64 << 20, Log: slog.New(slog.DiscardHandler)}
			for range 2 { // the first attempt leaves nothing that the second takes for a store
				if _, err := OpenManager(t.Context(), o); !errors.Is(err, errs.Corrupt) || errs.RemedyOf(err) == "" || !strings.Contains(err.Error(), storeDir) {
					t.Errorf("a start: %v", err)
				}
			}
		})
	}
}
