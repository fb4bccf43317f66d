package net

import (
	"errors"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/measure/host"
	"hemera/words/errs"
)

// The numbers were read in the files by eye.
func TestRecordedReportsAreRead(t *testing.T) {
	for file, want := range map[string]struct{ sent, received flow }{
		"3.12-tcp":           {sent: flow{bytes: 47634000, seconds: 1.012136}},
		"3.12-tcp-many":      {sent: flow{bytes: 44890040, seconds: 1.02256}},
		"3.12-tcp-receive":   {received: flow{bytes: 44980760, seconds: 1.000103}},
		"3.12-tcp-both":      {flow{bytes: 32725360, seconds: 1.003107, retransmits: 2}, flow{bytes: 30721744, seconds: 1.003107, retransmits: 1}},
		"3.12-tcp-both-many": {flow{bytes: 44273840, seconds: 1.043096, retransmits: 3}, flow{bytes: 40301184, seconds: 1.043096}},
		"3.12-udp-1500":      {sent: flow{bytes: 22944064, seconds: 1.01186, packets: 17880 - 2293, lost: 0.12824384787472036, jitter: 0.0000716640331093898}},
		"3.12-udp-receive":   {received: flow{bytes: 26390016, seconds: 1.000027, packets: 21767 - 3839, lost: 3839.0 / 21767, jitter: 0.0001491936282191206}},
		"3.12-udp-both": {flow{bytes: 6849216, seconds: 1.01889, packets: 12511 - 7858, lost: 7858.0 / 12511, jitter: 0.0003194835127174715},
			flow{bytes: 5068096, seconds: 1.01889, packets: 17322 - 13879, lost: 13879.0 / 17322, jitter: 0.0012962277368244168}},
		"3.21-tcp-both-many": {flow{bytes: 46792704, seconds: 1.006251}, flow{bytes: 41549824, seconds: 1.006251}},
		"3.21-udp-both": {flow{bytes: 42380352, seconds: 1.054169, packets: 31760 - 2969, lost: 2969.0 / 31760, jitter: 0.0000890171361199583},
			flow{bytes: 41180672, seconds: 1.054169, packets: 28716 - 740, lost: 740.0 / 28716, jitter: 0.00020703548968360352}},
		"3.12-udp-60": {sent: flow{bytes: 1184864, seconds: 1.000636, packets: 63457 - 26430, lost: 26430.0 / 63457, jitter: 0.000001854545951910042}},
	} {
		got, err := parse(recorded(t, file), "3", way(file))
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		for _, c := range []struct {
			way       string
			got, want flow
		}{{"sent", got.sent, want.sent}, {"received", got.received, want.received}} {
			if math.Abs(c.got.jitter-c.want.jitter) > 1e-12 || math.Abs(c.got.lost-c.want.lost) > 1e-12 {
				t.Errorf("%s, %s: jitter %g and %g lost, not %g and %g", file, c.way, c.got.jitter, c.got.lost, c.want.jitter, c.want.lost)
			}
			c.got.jitter, c.got.lost = c.want.jitter, c.want.lost
			if c.got != c.want {
				t.Errorf("%s, %s: %+v, not %+v", file, c.way, c.got, c.want)
			}
		}
	}
	got, err := parse(recorded(t, "3.12-tcp-both"), "3", Both)
	if err != nil || math.Abs(got.near.user-0.0016917) > 1e-6 || math.Abs(got.near.system-0.0369878) > 1e-6 || math.Abs(got.far.system-0.0383516) > 1e-6 {
		t.Errorf("processor time %+v and %+v, %v", got.near, got.far, err)
	}
}

// The packets that arrived have the bytes that arrived: 1472 of a packet of 1500, 32 of one of 60.
func TestPacketsAndBytesAgree(t *testing.T) {
	for file, size := range map[string]int64{"3.12-udp-1500": 1500, "3.12-udp-60": 60} {
		got, err := parse(recorded(t, file), "3", way(file))
		data := int64(payload(int(size), netip.MustParseAddr("192.0.2.2")))
		if err != nil || got.sent.bytes != data*got.sent.packets {
			t.Errorf("%s: %d packets of %d bytes are not %d, %v", file, got.sent.packets, data, got.sent.bytes, err)
		}
	}
	if n := payload(1500, netip.MustParseAddr("2001:db8::1")); n != 1452 {
		t.Errorf("IPv6 leaves %d bytes", n)
	}
}

func TestFailuresHaveTheirKind(t *testing.T) {
	for file, want := range map[string]errs.Kind{"3.12-refused": errs.Unavailable, "3.12-busy": errs.Overloaded, "3.21-refused": errs.Unavailable} {
		_, err := parse(recorded(t, file), "3", way(file))
		if !errors.Is(err, want) || errs.RemedyOf(err) == "" {
			t.Errorf("%s: %v; %s", file, err, errs.RemedyOf(err))
		}
	}
	whole := string(recorded(t, "3.12-tcp"))
	for name, text := range map[string]string{"nothing": "", "a message": "iperf3: error - unknown", "half": whole[:len(whole)/2], "no sums": `{"start": {}, "end": {}}`} {
		if _, err := parse([]byte(text), "3", Send); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// way returns the direction of a recorded run.
func way(file string) string {
	switch {
	case strings.Contains(file, "both"):
		return Both
	case strings.Contains(file, "receive"):
		return Receive
	}
	return Send
}

// shape returns a small report: a head with the version, streams of TCP in two directions, and the sums of a version.
func shape(version, sums string) string {
	return `{"start": {"version": "iperf ` + version + `", "test_start": {"protocol": "TCP", "reverse": 0}}, "end": {"streams": [
{"sender": {"start": 0, "end": 1, "seconds": 1, "bytes": 120, "retransmits": 2, "sender": true}, "receiver": {"start": 0, "end": 1.25, "seconds": 1, "bytes": 100, "sender": true}},
{"sender": {"start": 0, "end": 1, "seconds": 1, "bytes": 60, "retransmits": 1, "sender": true}, "receiver": {"start": 0, "end": 1.25, "seconds": 1, "bytes": 50, "sender": true}},
{"sender": {"start": 0, "end": 1, "seconds": 1, "bytes": 75, "retransmits": 3, "sender": false}, "receiver": {"start": 0, "end": 1.5, "seconds": 1, "bytes": 70, "sender": false}}
]` + sums + `}}`
}

// Versions differ in the sums that they write, and in what stands around the report.
func TestReportsOfOtherVersions(t *testing.T) {
	one := `, "sum_sent": {"seconds": 1, "bytes": 180, "retransmits": 3}, "sum_received": {"seconds": 1.25, "bytes": 150}`
	back := `, "sum_sent_bidir_reverse": {"seconds": 1, "bytes": 75, "retransmits": 3}, "sum_received_bidir_reverse": {"seconds": 1.5, "bytes": 70}`
	twice := one + strings.ReplaceAll(back, "_bidir_reverse", "")
	want := outcome{sent: flow{bytes: 150, seconds: 1.25, retransmits: 3}, received: flow{bytes: 70, seconds: 1.5, retransmits: 3}}
	modern := shape("3.16", one+back)
	for name, text := range map[string]string{
		"sums of one name": shape("3.7", twice), "no sums": shape("3.7", ""), "sums of their own": modern,
		"printed twice":        modern + "\n" + shape("3.17", strings.ReplaceAll(one+back, "bytes", "none")),
		"text around":          "warning: {this} path\n" + modern + "\niperf Done.\n",
		"decimal commas":       strings.ReplaceAll(strings.ReplaceAll(modern, "1.25", "1,25"), "1.5", "1,5"),
		"no number, not used":  strings.Replace(modern, `"retransmits": 3},`, `"retransmits": 3, "lost_percent": -nan},`, 1),
		"infinite, not used":   strings.Replace(modern, `"retransmits": 3},`, `"retransmits": 3, "lost_percent": inf},`, 1),
		"no sums of one way":   shape("3.9", one),
		"a string with braces": strings.Replace(modern, `"protocol"`, `"title": "a } \" {", "protocol"`, 1),
	} {
		if got, err := parse([]byte(text), "3", Both); err != nil || got != want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for name, c := range map[string]struct{ text, direction, version string }{
		"not both ways":       {strings.ReplaceAll(shape("3.7", one), `"sender": false`, `"sender": true`), Both, "3.7"},
		"not which way":       {strings.ReplaceAll(strings.ReplaceAll(shape("3.6", twice), `, "sender": false`, ""), `, "sender": true`, ""), Both, "3.6"},
		"UDP both, one sum":   {`{"start": {"version": "iperf 3.7"}, "end": {"streams": [{"udp": {"bytes": 5, "sender": true}}], "sum": {"bytes": 5, "seconds": 1}}}`, Both, "3.7"},
		"UDP, one sum":        {`{"start": {"version": "iperf 3.7"}, "end": {"streams": [], "sum": {"bytes": 5, "seconds": 1}}}`, Send, "3.7"},
		"the other way":       {shape("3.12", one), Receive, "3.12"},
		"no time":             {shape("3.9", strings.Replace(one, "1.25", "-nan", 1)), Send, "3.9"},
		"nothing arrived":     {shape("3.9", strings.Replace(one, "150", "0", 1)), Send, "3.9"},
		"a newer generation":  {`{"start": {"version": "iperf 4.0"}, "end": {}}`, Send, "4.0"},
		"half, of the client": {modern[:len(modern)/2], Send, "3 "},
	} {
		got, err := parse([]byte(c.text), "3 ", c.direction)
		if !errors.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "iperf3 "+c.version) || got != (outcome{}) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// FuzzParse: no report makes a flow of nothing.
func FuzzParse(f *testing.F) {
	for _, file := range []string{"3.12-tcp-both", "3.12-udp-both", "3.12-refused"} {
		f.Add(recorded(f, file), uint8(2))
	}
	f.Add([]byte(shape("3.7", "")), uint8(2))
	f.Fuzz(func(t *testing.T, out []byte, n uint8) {
		direction := Directions()[int(n)%len(Directions())]
		got, err := parse(out, "3", direction)
		if err == nil && (direction != Receive && got.sent.rate() <= 0 || direction != Send && got.received.rate() <= 0) {
			t.Errorf("%+v", got)
		}
	})
}

func recorded(t testing.TB, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "iperf3-"+name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestPlanHasEachStepOnce(t *testing.T) {
	o := &Options{Protocols: Protocols(), Directions: Directions(), Streams: []int{1, 8}, Packets: []int{1500, 60}}
	seen := map[string]bool{}
	for _, s := range plan(o) {
		seen[s.String()] = true
	}
	if n := len(plan(o)); n != 3*2*3 || len(seen) != n {
		t.Errorf("%d steps, %d different ones: %v", n, len(seen), seen)
	}
}

func TestArguments(t *testing.T) {
	at := netip.MustParseAddrPort("192.0.2.2:5201")
	for want, s := range map[string]step{
		"--client 192.0.2.2 --port 5201 --json --time 60 --parallel 8 --connect-timeout 5000":                                           {TCP, Send, 8, 0},
		"--client 192.0.2.2 --port 5201 --json --time 60 --parallel 1 --connect-timeout 5000 --bidir":                                   {TCP, Both, 1, 0},
		"--client 192.0.2.2 --port 5201 --json --time 60 --parallel 1 --connect-timeout 5000 --udp --bitrate 0 --length 1472 --reverse": {UDP, Receive, 1, 1500},
	} {
		if got := strings.Join(s.args(at, time.Minute, nil), " "); got != want {
			t.Errorf("%s\n is not\n%s", got, want)
		}
	}
	for want, cores := range map[string][]int{"--affinity 3": {3}, "--affinity 3,0 --reverse": {3, 0}} {
		s := step{TCP, Send, 1, 0}
		if len(cores) == 2 {
			s.direction = Receive
		}
		if got := strings.Join(s.args(at, time.Minute, cores), " "); !strings.HasSuffix(got, want) {
			t.Errorf("%s does not end with %s", got, want)
		}
	}
}

func TestTheBusiestCoresAreKept(t *testing.T) {
	var cores []host.CoreShare
	for id := range 80 {
		cores = append(cores, host.CoreShare{ID: id, Share: host.Share{Idle: 1}})
	}
	cores[3].Idle, cores[77].Idle = 0, 0.5
	got := busiest(cores)
	if len(got) != coresMax || !slices.Contains(got, "3") || !slices.Contains(got, "77") {
		t.Errorf("%v", got)
	}
	if got := busiest(cores[:2]); !slices.Equal(got, []string{"0", "1"}) {
		t.Errorf("of two cores %v", got)
	}
}

func TestOptionsAreJudged(t *testing.T) {
	good := func() Options {
		return Options{Protocols: Protocols(), Directions: Directions(), Streams: []int{1}, Packets: []int{60}, Port: 5201, For: time.Minute, Iterations: 10}
	}
	o := good()
	if err := o.Check(); err != nil {
		t.Error(err)
	}
	for name, spoil := range map[string]func(*Options){
		"protocol": func(o *Options) { o.Protocols = []string{"sctp"} }, "no protocol": func(o *Options) { o.Protocols = nil }, "direction": func(o *Options) { o.Directions = []string{"up"} },
		"streams": func(o *Options) { o.Streams = []int{129} }, "no streams": func(o *Options) { o.Streams = nil }, "packet": func(o *Options) { o.Packets = []int{40} },
		"a third core": func(o *Options) { o.Cores = []int{1, 2, 3} }, "a core": func(o *Options) { o.Cores = []int{-1} }, "no packet": func(o *Options) { o.Packets = nil }, "port": func(o *Options) { o.Port = 65535 }, "time": func(o *Options) { o.For = 1500 * time.Millisecond },
		"iterations": func(o *Options) { o.Iterations = 0 }, "a flag as host": func(o *Options) { o.Hosts = []string{"--server"} },
	} {
		o := good()
		spoil(&o)
		if err := o.Check(); !errors.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
