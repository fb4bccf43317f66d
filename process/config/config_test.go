package config

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/big"
	"net/netip"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"hemera/platform/auth"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// sources returns all three kinds of sources.
func sources(t testing.TB, file string, env map[string]string, args ...string) Sources {
	t.Helper()
	flags := pflag.NewFlagSet("test", pflag.ContinueOnError)
	Register(flags)
	if err := flags.Parse(args); err != nil {
		t.Fatal(err)
	}
	from := Sources{Flags: flags, Env: func(name string) (string, bool) { v, ok := env[name]; return v, ok }}
	if file != "" {
		from.File = filepath.Join(t.TempDir(), "hemera.toml")
		if err := os.WriteFile(from.File, []byte(file), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return from
}

func TestDefaults(t *testing.T) {
	l, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	if l.Port != 1094 || l.Listen != "127.0.0.1" || !l.Space.Sync || l.Space.Replicas != 2 || l.Space.Headroom != 0 ||
		l.Repair.Grace != 5*time.Minute || l.Log.Level != slog.LevelInfo || len(l.Auth.TrustedNetworks) != 0 {
		t.Errorf("%+v", l.Config)
	}
	for _, v := range l.Values() {
		if v.Source != "default" {
			t.Errorf("%s comes from %s", v.Key, v.Source)
		}
	}
}

func TestPrecedence(t *testing.T) {
	file := "port = 1\n[repair]\ngrace = \"1500ms\"\n[space]\nreplicas = 3\n"
	cases := []struct {
		env    map[string]string
		args   []string
		port   int
		source string
	}{
		{nil, nil, 1, "hemera.toml:1"},
		{map[string]string{"HEMERA_PORT": "2"}, nil, 2, "HEMERA_PORT"},
		{map[string]string{"HEMERA_PORT": "2"}, []string{"--port", "3"}, 3, "--port"},
		{nil, []string{"--port=1094"}, 1094, "--port"}, // also if it equals the default
	}
	for _, c := range cases {
		l, err := Load(sources(t, file, c.env, c.args...))
		if err != nil {
			t.Fatal(err)
		}
		if v := l.value("port"); l.Port != c.port || !strings.HasSuffix(v.Source, c.source) {
			t.Errorf("%v %v: port %d from %s; want %d from %s", c.env, c.args, l.Port, v.Source, c.port, c.source)
		}
		if v := l.value("space.replicas"); l.Space.Replicas != 3 || !strings.HasSuffix(v.Source, "hemera.toml:5") {
			t.Errorf("space.replicas is %+v", v)
		}
	}
}

func TestEveryFormOfValue(t *testing.T) {
	file := `
data = '/srv/h'
port = 0x446
node = { disks = ["/a", "/b=fast"], zone = "room::rack" }
[auth]
trusted_networks = [
  "10.1.0.0/16=own",
  "fd00::/8", # comment
]
token_lifetime = "90m"
[space]
headroom = 1_048_576
sync = false
[cache]
namespace = "1.5GiB"
[log]
level = "debug"
`
	l, err := Load(sources(t, file, nil))
	if err != nil {
		t.Fatal(err)
	}
	networks := []auth.Network{{Prefix: netip.MustParsePrefix("10.1.0.0/16"), Map: auth.MapOwn}, {Prefix: netip.MustParsePrefix("fd00::/8"), Map: auth.MapSquash}}
	if l.Data != "/srv/h" || l.Port != 0x446 || !reflect.DeepEqual(l.Node.Disks, []string{"/a", "/b=fast"}) || l.Node.Zone != "room::rack" ||
		!reflect.DeepEqual(l.Auth.TrustedNetworks, networks) || l.Auth.TokenLifetime != 90*time.Minute || l.Space.Headroom != 1<<20 ||
		l.Space.Sync || l.Cache.Namespace != 3<<29 || l.Log.Level != slog.LevelDebug {
		t.Errorf("%+v", l.Config)
	}
	if v := l.value("auth.trusted_networks"); !strings.HasSuffix(v.Source, ":6") || v.Value != "10.1.0.0/16=own,fd00::/8" {
		t.Errorf("%+v", v)
	}
	// The same through the other sources.
	env := map[string]string{"HEMERA_AUTH_TRUSTED_NETWORKS": "10.1.0.0/16=own, fd00::/8=squash", "HEMERA_SPACE_HEADROOM": "1MiB"}
	m, err := Load(sources(t, "", env, "--disk", "/a", "--disk=/b=fast", "--space-sync=false"))
	if err != nil || !reflect.DeepEqual(m.Auth.TrustedNetworks, networks) || m.Space.Headroom != 1<<20 ||
		!reflect.DeepEqual(m.Node.Disks, []string{"/a", "/b=fast"}) || m.Space.Sync {
		t.Errorf("%+v, %v", m, err)
	}
}

func TestErrorsNameKeyValueSourceAndRemedy(t *testing.T) {
	cases := []struct {
		file string
		env  map[string]string
		args []string
		want []string // each in the error or its remedy
	}{
		{"advertise = 'n1:http'", nil, nil, []string{"advertise", "n1:http", "host:port"}},
		{"advertise = 'n1:0'", nil, nil, []string{"advertise", "n1:0", "host:port"}},
		{"", map[string]string{"HEMERA_PORT": "70000"}, nil, []string{"port", "70000", "HEMERA_PORT", "at most 65535"}},
		{"", nil, []string{"--port", "x"}, []string{"port", `"x"`, "--port", "whole number"}},
		{"\n\nprot = 5", nil, nil, []string{"prot", "hemera.toml:3", "did you mean port?"}},
		{"[repair]\n\ngrase = '1s'", nil, nil, []string{"repair.grase", "hemera.toml:3", "did you mean repair.grace?"}},
		{"[weather]\nsunny = true", nil, nil, []string{"weather.sunny", "hemera.toml:2", "config show"}},
		{"port = [1, 2]", nil, nil, []string{"port", "hemera.toml:1", "one value"}},
		{"[[node.disks]]\nx = 1", nil, nil, []string{"node.disks", "table"}},
		{"port = ", nil, nil, []string{"hemera.toml:1"}},
		{"port = 1\nport = 2", nil, nil, []string{"hemera.toml", "port"}},
		{"[space]\nlayout = 'raid7'", nil, nil, []string{"space.layout", "raid7", "plain, replica", "rs:4+2"}},
		{"", nil, []string{"--layout=rs:4"}, []string{"space.layout", "rs:4", "--layout"}},
		{"[space]\nblock_size = '4k'", nil, nil, []string{"space.block_size", "4k", "64k to 16M"}},
		{"[space]\nheadroom = '4G'", nil, nil, []string{"space.headroom", `"4G"`, "4GiB"}},
		{"[cache]\nnamespace = '1KiB'", nil, nil, []string{"cache.namespace", "at least 256MiB"}},
		{"[repair]\ngrace = '5'", nil, nil, []string{"repair.grace", `"5"`, "duration"}},
		{"[auth]\ntrusted_networks = ['10.1.2.3/16']", nil, nil, []string{"auth.trusted_networks", "did you mean 10.1.0.0/16?"}},
		{"[auth]\ntrusted_networks = ['10.1.0.0/16=root']", nil, nil, []string{"auth.trusted_networks", "=squash, =own or =nobody"}},
		{"[tpc]\nallow = ['10.1.2.3/16']", nil, nil, []string{"tpc.allow", "did you mean 10.1.0.0/16?"}},
		{"[auth]\ntrusted_networks = ['everyone']", nil, nil, []string{"auth.trusted_networks", "everyone", "network like"}},
		{"listen = 'localhost:1094'", nil, nil, []string{"listen", "localhost:1094", "IP address"}},
		{"", nil, []string{"--space-replicas-min=3"}, []string{"space.replicas_min", "--space-replicas-min", "space.replicas, 2"}},
		{"", nil, []string{"--log-level=loud"}, []string{"log.level", "loud", "debug, info, warn or error"}},
		{"", nil, []string{"--disk=relative"}, []string{"node.disks", "absolute"}},
		{"", nil, []string{"--config=/does/not/exist"}, []string{"/does/not/exist"}},
	}
	for _, c := range cases {
		l, err := Load(sources(t, c.file, c.env, c.args...))
		if err == nil {
			t.Errorf("%q %v %v: no error; %+v", c.file, c.env, c.args, l.Config)
			continue
		}
		text := err.Error() + "\n" + errs.RemedyOf(err)
		for _, w := range c.want {
			if !strings.Contains(text, w) {
				t.Errorf("%q %v %v: %q is not in %q", c.file, c.env, c.args, w, text)
			}
		}
		if c.args == nil && (!errors.Is(err, errs.Invalid) || errs.RemedyOf(err) == "") {
			t.Errorf("%q: %v has kind %v, remedy %q", c.file, err, errs.KindOf(err), errs.RemedyOf(err))
		}
	}
}

func TestAllErrorsAreReportedAtOnce(t *testing.T) {
	_, err := Load(sources(t, "prot = 1\n[space]\nreplicas = 99", map[string]string{"HEMERA_LOG_LEVEL": "x"}))
	for _, key := range []string{"prot", "space.replicas", "log.level"} {
		if err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s is not in %v", key, err)
		}
	}
}

func TestSecretsAreNeverShown(t *testing.T) {
	const secret = "hemera-join:abcdef"
	l, err := Load(sources(t, "", map[string]string{"HEMERA_NODE_JOIN": secret}))
	if err != nil || l.Node.Join != secret {
		t.Fatalf("%q, %v", l.Node.Join, err)
	}
	_, failed := Load(sources(t, "[node]\njoin = ['"+secret+"', 'x']", nil))
	for _, shown := range []string{fmt.Sprint(l.Values()), failed.Error()} {
		if strings.Contains(shown, "abcdef") {
			t.Errorf("the secret is in %q", shown)
		}
	}
	if v := l.value("node.join"); v.Value != "(set, not shown)" || v.Source != "HEMERA_NODE_JOIN" || len(l.Values()) != len(settings()) {
		t.Errorf("%+v", v)
	}
}

// TestTagsAreWhole: every setting has a meaning, a default that parses to itself, and an unused name.
func TestTagsAreWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, s := range settings() {
		if strings.HasSuffix(s.key, ".") || strings.HasPrefix(s.key, ".") || s.doc == "" || seen[s.flag()] {
			t.Errorf("%+v", s)
		}
		seen[s.flag()] = true
		var c Config
		if err := s.set(&c, s.split(s.byText)); err != nil || s.text(&c) != s.byText {
			t.Errorf("%s: default %q is %q, %v", s.key, s.byText, s.text(&c), err)
		}
		for _, limit := range []string{s.min, s.max} {
			if _, _, err := s.convert(reflect.New(s.kind).Elem(), limit); limit != "" && err != nil {
				t.Errorf("%s: limit %q: %v", s.key, limit, err)
			}
		}
	}
}

// TestExampleIsTheDefaults: the example without its comment signs loads, and changes nothing.
func TestExampleIsTheDefaults(t *testing.T) {
	var example bytes.Buffer
	if err := Example(&example); err != nil {
		t.Fatal(err)
	}
	active := regexp.MustCompile(`(?m)^# ([a-z_]+ = )`).ReplaceAllString(example.String(), "$1")
	l, err := Load(sources(t, active, nil))
	if err != nil {
		t.Fatalf("%v in\n%s", err, active)
	}
	plain, err := Load(Sources{})
	if err != nil || !reflect.DeepEqual(l.Config, plain.Config) {
		t.Errorf("the example says\n%+v\nthe defaults are\n%+v (%v)", l.Config, plain.Config, err)
	}
	for _, v := range l.Values() {
		if v.Source == "default" {
			t.Errorf("%s is not in the example", v.Key)
		}
	}
}

func TestHelpAndTableHaveEverySetting(t *testing.T) {
	flags := pflag.NewFlagSet("x", pflag.ContinueOnError)
	Register(flags)
	var table bytes.Buffer
	if err := writeTable(&table); err != nil {
		t.Fatal(err)
	}
	for _, s := range settings() {
		if !strings.Contains(flags.FlagUsages(), "--"+s.flag()+" ") || !strings.Contains(flags.FlagUsages(), s.doc) {
			t.Errorf("%s is not in the help", s.key)
		}
		if !strings.Contains(table.String(), "`"+s.env()+"`") {
			t.Errorf("%s is not in the table", s.key)
		}
	}
	some := pflag.NewFlagSet("x", pflag.ContinueOnError)
	Register(some, "port", "node")
	if some.Lookup("port") == nil || some.Lookup("disk") == nil || some.Lookup("layout") != nil {
		t.Errorf("a selection has\n%s", some.FlagUsages())
	}
}

func FuzzParseBytes(f *testing.F) {
	for _, s := range []string{"0", "1", "4GiB", "1.5KiB", "9223372036854775807", "8PiB", "9000PB", "0.1B", "1e3", "-1", "4G", ".5KiB", "1.KiB"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := ParseBytes(text)
		want, ok := slowBytes(text)
		if (err == nil) != ok || ok && want.Cmp(big.NewRat(int64(got), 1)) != 0 {
			t.Fatalf("%q is %d, %v; want %v, %t", text, got, err, want, ok)
		}
		if err == nil {
			if again, err := ParseBytes(got.String()); err != nil || again != got {
				t.Errorf("%q is printed as %q, which is %d, %v", text, got, again, err)
			}
		}
	})
}

var sizeForm = regexp.MustCompile(`^ *([0-9]+(?:\.[0-9]{1,9})?) *(|[kKMGTP]B|[KMGTP]iB|B) *$`)

// slowBytes implements the same rule with rational numbers.
func slowBytes(text string) (*big.Rat, bool) {
	m := sizeForm.FindStringSubmatch(text)
	if m == nil {
		return nil, false
	}
	size, _ := new(big.Rat).SetString(m[1])
	base := int64(1000)
	if strings.HasSuffix(m[2], "iB") {
		base = 1024
	}
	for range strings.Index("BKMGTP", strings.ToUpper((m[2] + "B")[:1])) {
		size.Mul(size, big.NewRat(base, 1))
	}
	return size, size.IsInt() && size.Num().IsInt64()
}

func TestSpacePolicy(t *testing.T) {
	l, err := Load(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Space.Define("default")
	policy := hemera.Policy{Space: "default", Layout: hemera.Replica(2), Checksum: hemera.Adler32, Sync: true}
	if err != nil || s != (hemera.Space{Name: "default", Policy: policy}) {
		t.Errorf("%+v, %v", s, err)
	}
	for _, c := range []struct {
		args   []string
		layout string
		blocks uint32
		min    uint8
	}{
		{[]string{"--layout=plain", "--space-replicas-min=2"}, "plain", 0, 0},
		{[]string{"--layout=replica", "--space-replicas=3", "--space-replicas-min=2"}, "replica:3", 0, 2},
		{[]string{"--layout=replica:4", "--space-replicas-min=4"}, "replica:4", 0, 4},
		{[]string{"--layout=rs:4+2"}, "rs:4+2", 1 << 20, 0},
		{[]string{"--layout=rs:4+2", "--space-replicas-min=2", "--space-block-size=64k"}, "rs:4+2", 64 << 10, 5},
		{[]string{"--layout=raid6:12", "--space-replicas-min=4"}, "rs:10+2", 1 << 20, 12},
		{[]string{"--layout=stripe:4", "--space-replicas-min=2"}, "stripe:4", 1 << 20, 0},
	} {
		m, err := Load(sources(t, "", nil, c.args...))
		if err != nil {
			t.Fatal(err)
		}
		s, err := m.Space.Define("x")
		if p := s.Policy; err != nil || p.Layout.String() != c.layout || p.Layout.BlockSize != c.blocks || p.PiecesMin != c.min {
			t.Errorf("%s became %s with blocks of %d, at least %d, %v", c.args, p.Layout, p.Layout.BlockSize, p.PiecesMin, err)
		}
	}
}

func TestNodesAndDisksFitWhenOneIsChosen(t *testing.T) {
	for _, c := range []struct {
		args         []string
		nodes, disks int
	}{
		{nil, 6, 6}, {[]string{"--disks", "2"}, 2, 2}, {[]string{"--nodes", "9"}, 9, 9}, {[]string{"--nodes", "2"}, 2, 6}, {[]string{"--disks", "12"}, 6, 12},
	} {
		l, err := Load(sources(t, "", nil, c.args...))
		if err != nil || l.Up.Nodes != c.nodes || l.Up.Disks != c.disks {
			t.Errorf("%v: %d nodes, %d disks, %v", c.args, l.Up.Nodes, l.Up.Disks, err)
		}
	}
	if _, err := Load(sources(t, "", nil, "--nodes", "3", "--disks", "2")); err == nil {
		t.Error("three nodes got two disks")
	}
}

func TestStrangersInTheEnvironment(t *testing.T) {
	got := map[string]string{}
	for _, e := range Strangers([]string{
		"HEMERA_DATA=/d", "HEMERA_DATADIR=secret", "HEMERA_CONFIG=/c", "HEMERA_URL=root://m", "HEMERA_ULR=root://m", "PATH=/bin", "MY_HEMERA_DATA=1",
		"HEMERA_AUTH_TRUSTED_NETWORK=10.0.0.0/8", "HEMERA_SOMETHING_OF_OTHERS=1", "HEMERA_PORT", "HEMERA_=",
	}) {
		if strings.Contains(e.Error(), "secret") || !errors.Is(e, errs.Invalid) {
			t.Errorf("%v", e)
		}
		got[e.Subject] = e.Remedy
	}
	want := map[string]string{
		"HEMERA_DATADIR": "did you mean HEMERA_DATA?", "HEMERA_ULR": "did you mean HEMERA_URL?",
		"HEMERA_AUTH_TRUSTED_NETWORK": "did you mean HEMERA_AUTH_TRUSTED_NETWORKS?",
		"HEMERA_SOMETHING_OF_OTHERS":  "remove it; hemera config example lists all settings",
		"HEMERA_":                     "remove it; hemera config example lists all settings",
	}
	if !maps.Equal(got, want) {
		t.Errorf("got %v", got)
	}
}
