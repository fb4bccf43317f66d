package report

import (
	"bytes"
	"flag"
	"image/color"
	imagepng "image/png"
	"os"
	"path/filepath"
	"testing"

	"hemera/measure/reference"
	"hemera/measure/result"
)

var update = flag.Bool("update", false, "write the golden pages again; look at them in a browser before they are committed")

// TestGoldenPages holds the pages of recorded runs. testdata/README.md says how they were recorded.
func TestGoldenPages(t *testing.T) {
	published, err := reference.Find([]string{"cern-ns"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		page, run string
		beside    []*result.Run
	}{{"ns.html", "ns", nil}, {"io.html", "io", nil}, {"ns-cern.html", "ns", published}} {
		run, err := result.Read(filepath.Join("testdata", c.run+".json"))
		if err != nil {
			t.Fatal(err)
		}
		got := []byte(pageOf(t, append([]*result.Run{run}, c.beside...)...))
		if found := references.FindString(string(got)); found != "" {
			t.Errorf("%s refers to something: %s", c.page, found)
		}
		golden(t, c.page, got)
	}
}

// TestGoldenPlot holds one plot as the files that other programs read.
func TestGoldenPlot(t *testing.T) {
	dir := t.TempDir()
	run, err := result.Read(filepath.Join("testdata", "io.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := Write(dir, []*result.Run{run}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"io-read.svg", "io-read.csv", "io-read.json"} {
		got, err := os.ReadFile(filepath.Join(dir, "plots", name))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name, got)
	}
	checkPicture(t, filepath.Join(dir, "plots", "io-read.png"))
}

// golden compares with a file of testdata, or writes it.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		at := 0
		for at < min(len(got), len(want)) && got[at] == want[at] {
			at++
		}
		from := max(0, at-80)
		t.Errorf("%s differs at byte %d: %q, not %q; go test -update writes it", name, at, got[from:min(at+80, len(got))], want[from:min(at+80, len(want))])
	}
}

// checkPicture looks for the colours of the series in a picture: pixels differ between processors by roundings.
func checkPicture(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	picture, err := imagepng.Decode(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	count := map[color.RGBA]int{}
	b := picture.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			count[color.RGBAModel.Convert(picture.At(x, y)).(color.RGBA)]++
		}
	}
	first, second := color.RGBA{0x00, 0x69, 0xb4, 0xff}, color.RGBA{0xd5, 0x5e, 0x00, 0xff}
	if b.Dx() != plotWidth*density || count[first] < 200 || count[second] < 200 || count[color.RGBA{0xff, 0xff, 0xff, 0xff}] < b.Dx()*b.Dy()/2 {
		t.Errorf("%v with %d pixels of the first series, %d of the second", b, count[first], count[second])
	}
}
