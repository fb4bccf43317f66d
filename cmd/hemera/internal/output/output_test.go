package output

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestJSONNestsAndKeepsOrder(t *testing.T) {
	r := Record{{"b.y", 1}, {"a", "x"}, {"b.z.deep", 2.5}, {"c", true}, {"none", nil}, {"c.d", 3}, {"b.y.q", 4}}
	want := `{"b":{"y":1,"z":{"deep":2.5},"y.q":4},"a":"x","c":true,"none":null,"c.d":3}`
	if got := nest(r).text(); got != want {
		t.Errorf("%s, not %s", got, want)
	}
	for _, clash := range []Record{{{"a.b", 1}, {"a", 2}}, {{"a", 1}, {"a", 2}}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v did not clash", clash)
				}
			}()
			nest(clash)
		}()
	}
}

func TestMonitorQuotesWhatWouldSplit(t *testing.T) {
	r := Record{{"a", "plain"}, {"b", "two words"}, {"c", ""}, {"d", `say "x"`}, {"e", "tab\there"}, {"f", 1.0 / 3}, {"g", int64(7)}, {"h", "k=v"}}
	want := `a=plain b="two words" c= d="say \"x\"" e="tab\there" f=0.33 g=7 h=k=v`
	if got := MonitorLine(r); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
}

func TestMonitorQuotesWhatIsNotPrintable(t *testing.T) {
	r := Record{{"a", "\x1b[2J"}, {"b", "\u009b2J"}, {"c", "\xff"}, {"d", "Ünï"}, {"e", "a\u2028b"}}
	want := `a="\x1b[2J" b="\u009b2J" c="\xff" d=Ünï e="a\u2028b"`
	if got := MonitorLine(r); got != want {
		t.Errorf("%s\nnot\n%s", got, want)
	}
}

// Names must not send control sequences to a terminal; a pipe gets them unchanged.
func TestTerminalsAreNotCommanded(t *testing.T) {
	columns, r := []Column{{Title: "name", Key: "name"}, {Title: "n", Key: "n"}}, Record{{"name", "\x1b[2J\nx"}, {"n", 1}}
	for _, terminal := range []bool{false, true} {
		var table, one, stream strings.Builder
		show := func(b *strings.Builder) Printer { return Printer{W: b, Terminal: terminal} }
		_ = show(&table).List(columns, []Record{r})
		_ = show(&one).One(columns, r)
		_ = show(&stream).Stream(func(r Record) string { return r.Get("name").(string) }).Add(r)
		for _, b := range []*strings.Builder{&table, &one, &stream} {
			if strings.Contains(b.String(), "\x1b") == terminal {
				t.Errorf("terminal %t: %q", terminal, b)
			}
		}
		if n := strings.Count(table.String(), "\n"); n != 2 {
			t.Errorf("a record has more than a line: %q", table.String())
		}
	}
}

// TestStreamIsAlwaysWholeJSON ends streams of every length in both ways.
func TestStreamIsAlwaysWholeJSON(t *testing.T) {
	for n := range 3 {
		for _, fail := range []bool{false, true} {
			var b bytes.Buffer
			s := Printer{W: &b, Format: JSON}.Stream(nil)
			for range n {
				if err := s.Add(Record{{"path", "/a \"b\"\n\x01"}}); err != nil {
					t.Fatal(err)
				}
			}
			if fail {
				_ = s.Fail(1, "it \"broke\"", "mend it", "0123")
			} else {
				_ = s.Close()
			}
			var out struct {
				Result                  []map[string]any
				Errormsg, Remedy, Trace string
				Retc                    int
			}
			if err := json.Unmarshal(b.Bytes(), &out); err != nil {
				t.Fatalf("%v in %s", err, &b)
			}
			if len(out.Result) != n || (out.Retc != 0) != fail || (out.Errormsg == `it "broke"`) != fail || (out.Trace == "0123") != fail {
				t.Errorf("%d records, fail %t: %+v", n, fail, out)
			}
		}
	}
}

func TestTable(t *testing.T) {
	columns := []Column{{Title: "name", Key: "name"}, {Title: "size", Key: "size", Show: Bytes}, {Title: "state", Key: "state"}}
	records := []Record{
		{{"name", "é"}, {"size", int64(999)}, {"state", "ok"}},
		{{"name", "long-name"}, {"size", int64(1_500_000)}, {"state", ""}},
	}
	want := "name          size  state\né            999 B  ok\nlong-name  1.50 MB  -\n"
	var plain, coloured strings.Builder
	_ = Printer{W: &plain}.List(columns, records)
	if plain.String() != want {
		t.Errorf("got\n%swant\n%s", &plain, want)
	}
	_ = Printer{W: &coloured, Colour: true}.List(columns, records)
	if s := coloured.String(); !strings.Contains(s, "\x1b[32mok\x1b[0m") || !strings.Contains(s, "\x1b[1mname") {
		t.Errorf("colours are %q", s)
	}
}

func TestUnits(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Bytes(int64(0)), "0 B"}, {Bytes(999), "999 B"}, {Bytes(1000), "1.00 kB"}, {Bytes(4e12), "4.00 TB"},
		{Bytes(nil), ""}, {Bytes(int64(-2500)), "-2.50 kB"}, {Bytes(uint64(1) << 63), "9.22 EB"},
		{Percent(12.3456), "12.35%"}, {Seconds(0.25), "300ms"}, {Seconds(3725), "1h2m5s"}, {Time(0), "never"},
	} {
		if test.got != test.want {
			t.Errorf("%q, not %q", test.got, test.want)
		}
	}
}

func TestNumbersOfThings(t *testing.T) {
	for want, got := range map[string]string{"1 queue": Count(1, "queue"), "0 queues": Count(0, "queue"), "1 copy": Count(1, "copy"), "2 copies": Count(2, "copy")} {
		if got != want {
			t.Errorf("%q, not %q", got, want)
		}
	}
}
