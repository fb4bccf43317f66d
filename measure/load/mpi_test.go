package load

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"hemera/measure/result"
	"hemera/words/errs"
)

// recorded returns a recorded output.
func recorded(t testing.TB, name string) []byte {
	t.Helper()
	out, err := os.ReadFile(filepath.Join("testdata", name)) // #nosec G304 -- of this package
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestOutputOfIORIsRead(t *testing.T) {
	for access, mib := range map[string]float64{"write": 749.0999, "read": mibOf(t, "ior-read.json")} {
		version, rate, err := parseIOR(recorded(t, "ior-"+access+".json"), access)
		if err != nil || version != "4.1.0+dev" || rate != mib*(1<<20) {
			t.Errorf("%s: %q, %v, %v", access, version, rate, err)
		}
	}
	for _, out := range []string{"", "{}", `{"tests": [{"Results": [{"access": "read", "bwMiB": 5}]}]}`, `{"tests": [{"Results": [{"access": "write", "bwMiB": 0}]}]}`,
		`{"tests": [{"Results": [{"access": "write", "bwMiB": "nan"}]}]}`} {
		if _, _, err := parseIOR([]byte(out), "write"); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", out, err)
		}
	}
}

// Warnings of MPI and of ior stand before and behind the summary.
func TestTextAroundASummaryOfIOR(t *testing.T) {
	whole := string(recorded(t, "ior-write.json"))
	for name, text := range map[string]string{
		"before": "ior WARNING: {inconsistent} size\n" + whole, "behind": whole + "\nmpirun: {done}\n", "twice": whole + whole,
		"commas": strings.ReplaceAll(whole, "749.0999", "749,0999"), "not a number": strings.Replace(whole, `"tests"`, `"x": -nan, "tests"`, 1),
	} {
		if _, rate, err := parseIOR([]byte(text), "write"); err != nil || rate != 749.0999*(1<<20) {
			t.Errorf("%s: %v, %v", name, rate, err)
		}
	}
	for text, want := range map[string]string{
		"IOR-3.0.1: MPI Coordinated Test of Parallel I/O\nMax Write: 749.10 MiB/sec\n":               "ior 3.0.1",
		`{"Version": "4.0.0", "tests": [{"Results": [{"access": "write", "bwMiB": -nan}]}]}`:         "ior 4.0.0",
		`{"Version": "4.1.0", "tests": [{"Results": [{"access": "write", "bandwidth": 749.0999}]}]}`: "ior 4.1.0",
	} {
		if _, _, err := parseIOR([]byte(text), "write"); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.30q: %v", text, err)
		}
	}
}

func TestOutputOfOtherVersionsOfMdtest(t *testing.T) {
	text := string(recorded(t, "mdtest.txt"))
	_, want, err := parseMdtest([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	times := strings.Replace(text[strings.Index(text, "SUMMARY"):], "rate (in ops/sec)", "time (in ms/op)", 1)
	for name, out := range map[string]string{
		"text before": strings.Repeat("a warning ", 10_000) + "\n" + text, "times behind": text + times, "times before": times + text, "twice": text + text,
		"commas": strings.ReplaceAll(text, ".", ","), "lines of another system": strings.ReplaceAll(text, "\n", "\r\n"),
	} {
		if _, rows, err := parseMdtest([]byte(out)); err != nil || !slices.Equal(rows, want) {
			t.Errorf("%s: %v, %v", name, rows, err)
		}
	}
	// One rate that is none is not passed over.
	if _, _, err := parseMdtest([]byte(strings.ReplaceAll(text, "5815.004", "-nan"))); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "mdtest 4.1.0+dev") {
		t.Error(err)
	}
}

// FuzzOutputs: no output makes a rate of nothing.
func FuzzOutputs(f *testing.F) {
	for _, file := range []string{"ior-write.json", "mdtest.txt"} {
		f.Add(recorded(f, file))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		if _, rate, err := parseIOR(out, "write"); err == nil && rate <= 0 {
			t.Error(rate)
		}
		_, rows, err := parseMdtest(out)
		for _, r := range rows {
			if err == nil && r.rate <= 0 {
				t.Error(r)
			}
		}
	})
}

// mibOf returns the rate in the last part of a recorded summary, which parseIOR does not use.
func mibOf(t *testing.T, name string) (mib float64) {
	t.Helper()
	for line := range strings.Lines(string(recorded(t, name))) {
		if strings.Contains(line, `"bwMeanMIB"`) {
			text := strings.Trim(line[strings.Index(line, ":")+1:], " ,\n")
			var err error
			if mib, err = strconv.ParseFloat(text, 64); err != nil {
				t.Fatal(err)
			}
		}
	}
	return mib
}

func TestOutputOfMdtestIsRead(t *testing.T) {
	version, rows, err := parseMdtest(recorded(t, "mdtest.txt"))
	want := []row{{"directory-creation", 4986.807}, {"directory-stat", 5808.561}, {"directory-rename", 12540.525}, {"directory-removal", 1390.127},
		{"file-creation", 4652.067}, {"file-stat", 5815.004}, {"file-read", 12545.401}, {"file-removal", 15356.438}, {"tree-creation", 54.843}, {"tree-removal", 117.386}}
	if err != nil || version != "4.1.0+dev" || !slices.Equal(rows, want) {
		t.Errorf("%q, %v, %v", version, rows, err)
	}
	// As mdtest 1.9 prints it, after its manual; rows of zeros were not measured.
	_, rows, err = parseMdtest([]byte("   File creation     :      10.5       2.0       4.5       1.0\n   File stat         :      0.000      0.000      0.000      0.000\n"))
	if err != nil || !slices.Equal(rows, []row{{"file-creation", 4.5}}) {
		t.Errorf("%v, %v", rows, err)
	}
	for _, out := range []string{"", "mdtest-4.1 was launched with 2 total task(s)\n", "   File creation  nan nan nan nan\n", "   File stat 0.0 0.0 0.0 0.0\n"} {
		if _, _, err := parseMdtest([]byte(out)); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", out, err)
		}
	}
}

// withMPI puts programs of the test's in the place of mpirun, ior and mdtest.
func withMPI(t *testing.T, mpirun string) {
	t.Helper()
	bin := t.TempDir()
	for name, text := range map[string]string{"mpirun": mpirun, "ior": "exit 1", "mdtest": "exit 1"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil { // #nosec G306 -- a program
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":"+os.Getenv("PATH"))
}

// printing returns a script for mpirun that makes the files that the program would leave, and prints a recorded output.
func printing(t *testing.T) string {
	t.Helper()
	data, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	return `for a; do last=$a; case $a in */ior*) file=$a;; esac; done
case "$*" in
*" ior "*" -w"*) : >$file.00000000; cat ` + data + `/ior-write.json;;
*" ior "*" -r"*) cat ` + data + `/ior-read.json;;
*" mdtest "*) mkdir -p "$last/left"; cat ` + data + `/mdtest.txt;;
esac`
}

func TestDriversOfMPIAreMeasured(t *testing.T) {
	withMPI(t, printing(t))
	for driver, want := range map[string][]string{DriverIOR: {"write", "read"}, DriverMdtest: {"file-creation", "tree-removal"}} {
		rec := recorder(t)
		o := little(t.TempDir())
		o.Driver, o.Loads, o.Nodes = driver, LoadsOf(driver), []Node{{Net: Rate{Mean: 1e9}}}
		if err := Run(t.Context(), o, rec); err != nil {
			t.Fatal(driver, err)
		}
		level := rec.End()
		for _, load := range want {
			n := 0
			for _, m := range level.Measures {
				if m.Labels["load"] == load && (m.Name == "throughput" || m.Name == "rate") && len(m.Samples) == 2 && (m.Name == "rate" || m.Peak == 1e9) {
					n++
				}
			}
			if n != 2 { // numbers of clients
				t.Errorf("%s: %s has %d measures", driver, load, n)
			}
		}
		if !slices.Equal(level.Tools, []result.Tool{{Name: driver, Version: "4.1.0+dev"}}) {
			t.Errorf("%+v", level.Tools)
		}
		if got := names(t, o.Targets[0]); len(got) != 0 {
			t.Errorf("%s: %q stay", driver, got)
		}
	}
}

func TestDriversOfMPIThatFailOrAreInterrupted(t *testing.T) {
	for _, driver := range []string{DriverIOR, DriverMdtest} {
		o := little(t.TempDir())
		o.Driver, o.Loads = driver, LoadsOf(driver)
		withMPI(t, "echo first >&2; echo no slots >&2; exit 3")
		if err := Run(t.Context(), o, recorder(t)); !errors.Is(err, errs.IO) || !strings.Contains(err.Error(), "no slots") {
			t.Errorf("%s: %v", driver, err)
		}
		withMPI(t, "echo nothing")
		if err := Run(t.Context(), o, recorder(t)); !errors.Is(err, errs.Invalid) || !strings.Contains(errs.RemedyOf(err), "raw/") {
			t.Errorf("%s: %v", driver, err)
		}
		// The interruption comes when the program has begun: it opens a pipe then, and waits for its other end for ever.
		begun := filepath.Join(t.TempDir(), "begun")
		if err := unix.Mkfifo(begun, 0o600); err != nil {
			t.Fatal(err)
		}
		withMPI(t, `exec 3>`+begun+`; exec tail -f /dev/null`)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			defer cancel()
			f, err := os.Open(begun) // #nosec G304 -- blocks until the program opens its end
			if err == nil {
				_ = f.Close()
			}
		}()
		if err := Run(ctx, o, recorder(t)); !errors.Is(err, context.Canceled) && !errors.Is(err, errs.Cancelled) {
			t.Errorf("%s: %v", driver, err)
		}
		if got := names(t, o.Targets[0]); len(got) != 0 {
			t.Errorf("%s: %q stay", driver, got)
		}
	}
}

func TestDriversOfMPIAreSkippedWithARemedy(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	for target, why := range map[string]string{"/x": "not installed", "root://localhost//x": "is a server"} {
		rec := recorder(t)
		o := Options{Targets: []string{target}, Loads: []string{Sequential}, Driver: DriverIOR}
		ready, err := (&run{o: &o, rec: rec}).drive(t.Context(), directory{root: target})
		skipped := rec.End().Skipped
		if ready || err != nil || len(skipped) != 1 || !strings.Contains(skipped[0].Why, why) || skipped[0].Remedy == "" {
			t.Errorf("%s: %v, %v, %+v", target, ready, err, skipped)
		}
	}
}
