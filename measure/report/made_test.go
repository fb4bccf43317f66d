package report

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"hemera/measure/result"
)

// plotsOf returns the files in the plots of a report.
func plotsOf(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(filepath.Join(dir, "plots"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// files returns the files of figures, and others, in the order of a directory.
func files(others []string, figures ...string) (names []string) {
	for _, f := range figures {
		names = append(names, f+".csv", f+".json", f+".png", f+".svg")
	}
	names = append(names, others...)
	slices.Sort(names)
	return names
}

func TestFiguresOfAnEarlierReportGo(t *testing.T) {
	dir := t.TempDir()
	run := runOf("first", "x", 1)
	if err := Write(dir, []*result.Run{run}); err != nil {
		t.Fatal(err)
	}
	// A user's own file, and one whose name begins as that of a figure.
	theirs := []string{madeName, "mine.png", "power-annotated.svg"}
	for _, name := range theirs[1:] {
		if err := os.WriteFile(filepath.Join(dir, "plots", name), []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := plotsOf(t, dir), files(theirs, "a-x", "bars", "power", "stack"); !slices.Equal(got, want) {
		t.Fatalf("the first report made %q, want %q", got, want)
	}
	// One file of a figure that goes was removed by its owner.
	if err := os.Remove(filepath.Join(dir, "plots", "power.png")); err != nil {
		t.Fatal(err)
	}
	run.Levels[0].Figures = run.Levels[0].Figures[:2]
	for range 2 { // the second time there is nothing to remove
		if err := Write(dir, []*result.Run{run}); err != nil {
			t.Fatal(err)
		}
		if got, want := plotsOf(t, dir), files(theirs, "a-x", "bars"); !slices.Equal(got, want) {
			t.Errorf("there are %q, want %q", got, want)
		}
	}
}

// A list that was changed by hand removes only figures, and only inside the directory.
func TestAHostileListRemovesNothing(t *testing.T) {
	dir := t.TempDir()
	plots := filepath.Join(dir, "plots")
	if err := os.Mkdir(plots, 0o700); err != nil {
		t.Fatal(err)
	}
	victims := []string{filepath.Join(dir, "result.json"), filepath.Join(plots, "a b.svg"), filepath.Join(plots, "mine")}
	for _, name := range victims {
		if err := os.WriteFile(name, []byte("x"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list := "../result\nplots/../../result\n" + filepath.Join(dir, "result") + "\na b\nmine\n\n..\n"
	if err := os.WriteFile(filepath.Join(plots, madeName), []byte(list), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, []*result.Run{runOf("first", "x", 1)}); err != nil {
		t.Fatal(err)
	}
	for _, name := range victims {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}
