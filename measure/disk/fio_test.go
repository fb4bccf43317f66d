package disk

import (
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/words/errs"
)

// The numbers were read in the files by eye.
func TestRecordedReportsAreRead(t *testing.T) {
	for file, want := range map[string]outcome{
		"fio-3.33-read.json": {read: flow{330301440, 315, 1090103762, 1039.60396, 3620864e-9, 5210112e-9}, took: 303 * time.Millisecond,
			cpu: 16 * time.Millisecond}, // 1.331115 % of 1.202 s
		"fio-3.33-both.json": {read: flow{67108864, 64, 1082401032, 1032.258065, 252928e-9, 22151168e-9}, written: flow{67108864, 64, 1048576000, 1000, 218112e-9, 4358144e-9},
			took: 64 * time.Millisecond, cpu: 37 * time.Millisecond}, // 17.70335 % of 0.209 s
		"fio-3.42-both.json": {read: flow{67108864, 64, 1137438372, 1084.745763, 119296e-9, 15925248e-9}, written: flow{67108864, 64, 1100145311, 1049.180328, 226304e-9, 1974272e-9},
			took: 61 * time.Millisecond, cpu: 28 * time.Millisecond}, // 14.285714 % of 0.196 s
		"fio-3.33-randwrite.json": {written: flow{65142784, 15904, 216421209, 52837.209302, 72192e-9, 136192e-9}, took: 301 * time.Millisecond, cpu: 169 * time.Millisecond},
		"fio-3.33-note.txt":       {read: flow{8900608, 2173, 88124831, 21514.851485, 44800e-9, 92672e-9}, took: 101 * time.Millisecond, cpu: 40 * time.Millisecond},
	} {
		got, err := parse(recorded(t, file), "3", loadOf(file))
		got.cpu = got.cpu.Round(time.Millisecond)
		if err != nil || got != want {
			t.Errorf("%s: %v\n %+v, not\n %+v", file, err, got, want)
		}
	}
}

func TestReportsThatAreNoneAreRefused(t *testing.T) {
	_, err := parse(recorded(t, "fio-3.33-full.json"), "3", Write)
	if !errors.Is(err, errs.IO) || !strings.Contains(err.Error(), "28") {
		t.Errorf("a full disk: %v", err)
	}
	whole := string(recorded(t, "fio-3.33-read.json"))
	for name, text := range map[string]string{
		"nothing": "", "a message": "fio: engine psync not loadable\n", "half a report": whole[:len(whole)/2], "another program": "{\n\"jobs\": [{}]}",
		"earlier units": strings.Replace(whole, "fio-3.33", "fio-2.21", 1), "no rate": strings.ReplaceAll(whole, `"bw_bytes"`, `"bw_kib"`),
		"not a number": strings.Replace(whole, `"bw_bytes" : `, `"bw_bytes" : -nan, "was" : `, 1), "two groups": strings.Replace(whole, `"jobs" : [`, `"jobs" : [ {},`, 1),
	} {
		if _, err := parse([]byte(text), "3.33", Read); !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "fio ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// loadOf returns the load of a recorded run.
func loadOf(file string) string {
	switch {
	case strings.Contains(file, "both"):
		return Both
	case strings.Contains(file, "randwrite"):
		return RandWrite
	}
	return Read
}

func TestTextAroundAReportIsPassedOver(t *testing.T) {
	whole := string(recorded(t, "fio-3.33-read.json"))
	want, err := parse([]byte(whole), "3", Read)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"before": "fio: {1} note\n" + whole, "behind": whole + "\nfio: file lock {kept}\n", "twice": whole + whole,
		"commas": strings.Replace(whole, `"iops" : 1039.`, `"iops" : 1039,`, 1), "not a number": strings.Replace(whole, `"bw_dev" : `, `"bw_dev" : -nan, "was" : `, 1),
	} {
		if got, err := parse([]byte(text), "3", Read); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// FuzzParse: no report makes a rate of nothing.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"fio-3.33-read.json", "fio-3.33-note.txt", "fio-3.33-full.json"} {
		f.Add(recorded(f, file))
	}
	f.Fuzz(func(t *testing.T, out []byte) {
		if got, err := parse(out, "3", Read); err == nil && got.read.rate <= 0 {
			t.Errorf("%+v", got)
		}
	})
}

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestArgumentsOfEachLoad(t *testing.T) {
	files := place{disk: "sda", dir: "/a:b/run", size: 100 << 20, write: true, direct: true}
	device := place{disk: "sda", device: "/dev/sda", size: 50 << 20, direct: true}
	for name, c := range map[string]struct {
		step    step
		with    []string
		without []string
	}{
		"direct reads go on": {step{load: Read, mode: direct, streams: 3, places: []place{files}},
			[]string{"--direct=1", "--time_based", "--readonly", "--runtime=1500ms", `--filename=/a\:b/run/read`, "--numjobs=3", "--size=34603008", "--offset_increment=34603008", "--bs=1048576"},
			[]string{"--rw=write"}},
		"buffered reads end with their file": {step{load: Read, mode: buffered, streams: 1, places: []place{files}}, []string{"--direct=0", "--invalidate=1", "--size=104857600"}, []string{"--time_based"}},
		"the sweep reads in small requests":  {step{test: testReadAhead, load: Read, mode: buffered, streams: 1, places: []place{files}}, []string{"--bs=131072"}, []string{"--bs=1048576"}},
		"writes make new files": {step{load: Write, mode: buffered, streams: 2, places: []place{files}},
			[]string{"--rw=write", `--directory=/a\:b/run`, "--unlink=1", "--end_fsync=1", "--numjobs=2"}, []string{"--readonly", "--rw=read", "--time_based"}},
		"both are two sections": {step{load: Both, mode: direct, streams: 2, places: []place{files}}, []string{"--name=read", "--name=write"}, []string{"--readonly"}},
		"random writes are durable": {step{load: RandWrite, mode: direct, streams: 2, places: []place{files}},
			[]string{"--rw=randwrite", "--bs=4096", "--end_fsync=1", "--time_based", "--size=104857600"}, []string{"--readonly"}},
		"a device is smaller than the files": {step{load: RandRead, mode: direct, streams: 2, places: []place{device}},
			[]string{"--filename=/dev/sda", "--size=52428800", "--readonly"}, []string{"--end_fsync=1"}},
		"a device that is written": {step{load: Write, mode: direct, streams: 5, places: []place{device}},
			[]string{"--filename=/dev/sda", "--size=10485760", "--offset_increment=10485760", "--end_fsync=1"}, []string{"--unlink=1", "--readonly"}},
		"disks at once": {step{load: Read, mode: direct, streams: 1, places: []place{files, device}}, []string{`--filename=/a\:b/run/read`, "--filename=/dev/sda"}, nil},
	} {
		got := c.step.args(100<<20, 1500*time.Millisecond)
		for _, want := range c.with {
			if !slices.Contains(got, want) {
				t.Errorf("%s: no %s in %v", name, want, got)
			}
		}
		for _, not := range c.without {
			if slices.Contains(got, not) {
				t.Errorf("%s: %s in %v", name, not, got)
			}
		}
	}
}

func TestPlanHasEachStepOnce(t *testing.T) {
	o := &Options{Loads: Loads(), Streams: []int{1, 4}, ReadAheads: []int64{128 << 10, 1 << 20}}
	a := place{disk: "sda", dir: "/a", block: "sda", write: true, direct: true, sweeps: true}
	raw := place{disk: "sda", device: "/dev/sda", block: "sda", direct: true}
	b := place{disk: "sdb", dir: "/b", block: "sdb", write: true, direct: true}
	memory := place{disk: "tmp", dir: "/tmp", write: true}
	for name, c := range map[string]struct {
		places                   []place
		ramps, scaling, sweeping int
	}{
		// Sequential loads in two modes, random ones in one, each with two numbers of streams; the device is only read.
		"a disk":        {[]place{a, raw}, 3*2*2 + 2*2 + 2*2, 0, 2},
		"two disks":     {[]place{a, raw, b}, 2*(3*2*2+2*2) + 2*2, 4, 2},
		"in memory":     {[]place{memory}, 5 * 2, 0, 0},
		"with a memory": {[]place{a, memory}, 3*2*2 + 2*2 + 5*2, 0, 2}, // one of the two cannot be written directly
	} {
		count := map[string]int{}
		seen := map[string]bool{}
		for _, s := range plan(o, c.places) {
			count[s.test]++
			l := s.labels()
			key := strings.Join([]string{l["test"], l["load"], l["mode"], l["streams"], l["disk"], l["at"], l["disks"], l["read_ahead_kib"]}, " ")
			if seen[key] {
				t.Errorf("%s: two steps are %s", name, key)
			}
			seen[key] = true
			if s.writes() && s.places[0].isDevice() {
				t.Errorf("%s: a device is written: %s", name, key)
			}
		}
		if count[testRamp] != c.ramps || count[testScaling] != c.scaling || count[testReadAhead] != c.sweeping {
			t.Errorf("%s: %v, not %d, %d, %d", name, count, c.ramps, c.scaling, c.sweeping)
		}
	}
}

func TestBusyIsTheTimeOfWork(t *testing.T) {
	begin := time.Unix(1e9, 0)
	var list []reading
	var r reading
	for ms := 0; ms <= 2000; ms += 5 {
		r.at = begin.Add(time.Duration(ms) * time.Millisecond)
		list = append(list, r)
		switch {
		case ms >= 600 && ms < 1600: // 200 requests of 1 MiB a second, two in flight, each for 5 ms
			r.Reads++
			r.ReadBytes += 1 << 20
			r.ReadTime += 5 * time.Millisecond
			r.Active += 5 * time.Millisecond
			r.Waited += 10 * time.Millisecond
		case ms%500 == 0: // another program
			r.Reads++
			r.ReadBytes += 4096
		}
	}
	got, ok := busy(list, time.Second)
	if !ok || got.Reads != 200 || got.ReadSize != 1<<20 || math.Abs(got.Queue-2) > 1e-9 || math.Abs(got.Utilisation-1) > 1e-9 || math.Abs(got.ReadWait-0.005) > 1e-9 {
		t.Errorf("%+v, %v", got, ok)
	}
	for name, took := range map[string]time.Duration{"too short": 5 * time.Millisecond, "longer than the readings": time.Minute} {
		if got, ok := busy(list, took); ok {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got, ok := busy(list[:1], time.Second); ok {
		t.Errorf("one reading: %+v", got)
	}
}

func TestOptionsAreJudged(t *testing.T) {
	good := func() Options {
		return Options{Targets: []string{"/a"}, Loads: Loads(), Streams: Ramp(15), Iterations: 5, Size: 4 << 30, For: time.Second, ReadAheads: ReadAheads()}
	}
	o := good()
	if err := o.Check(); err != nil || len(o.ReadAheads) != 10 || !slices.Equal(o.Streams, []int{1, 2, 4, 8, 15}) {
		t.Errorf("%v %v %v", err, o.ReadAheads, o.Streams)
	}
	for name, spoil := range map[string]func(*Options){
		"no target": func(o *Options) { o.Targets = nil }, "no stream": func(o *Options) { o.Streams = nil }, "0 streams": func(o *Options) { o.Streams = []int{0} },
		"a load": func(o *Options) { o.Loads = []string{"reed"} }, "no load": func(o *Options) { o.Loads = nil }, "size": func(o *Options) { o.Size = 14 << 20 },
		"time": func(o *Options) { o.For = 0 }, "iterations": func(o *Options) { o.Iterations = 0 }, "another device": func(o *Options) { o.WriteDevice = "/dev/sdz" },
	} {
		o := good()
		spoil(&o)
		if err := o.Check(); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
