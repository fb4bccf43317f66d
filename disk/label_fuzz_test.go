package disk

import (
	"os"
	"strings"
	"testing"
	"time"

	"hemera/platform/vfs"
	"hemera/words/errs"
)

// FuzzLabel: a label is a word without a break of lines, or Corrupt; any state of a scrub is one of this version, or none.
func FuzzLabel(f *testing.F) {
	f.Add([]byte(labelFirst + "\nuuid 1-2\n" + labelHelp + "\n"))
	f.Add([]byte(labelFirst + "\nuuid \n"))
	f.Add([]byte(`{"version": 1, "ended": "2026-11-28T00:00:00Z", "after": "1.2.3", "under": true}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		fsys := vfs.NewMemory(1<<20, time.Now)
		if err := fsys.Mkdir("/d"); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{labelName, scrubName} {
			file, err := fsys.Open("/d/"+name, os.O_RDWR|os.O_CREATE)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := file.WriteAt(text, 0); err != nil {
				t.Fatal(err)
			}
			_ = file.Close()
		}
		uuid, err := ReadLabel(fsys, "/d")
		if err == nil && (uuid == "" || strings.Contains(uuid, "\n")) || err != nil && errs.KindOf(err) != errs.Corrupt {
			t.Errorf("%q, %v", uuid, err)
		}
		if s := loadScrub(&tree{fsys, "/d"}); s.Version != 0 && s.Version != scrubVersion {
			t.Errorf("%+v", s)
		}
	})
}
