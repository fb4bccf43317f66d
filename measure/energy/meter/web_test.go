package meter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/words/errs"
)

// login is a login of tests. The password has what addresses must quote.
func login(t *testing.T) Login {
	t.Helper()
	path := filepath.Join(t.TempDir(), "login")
	if err := os.WriteFile(path, []byte("root:se:cret &?\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := ReadLogin(path)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// device serves pages by their path. guarded ones want the login of tests.
func device(t *testing.T, guarded bool, pages map[string]string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		page, ok := pages[r.URL.Path]
		switch {
		case guarded && r.URL.Path != "/shelly" && (user != "root" || password != "se:cret &?"):
			w.WriteHeader(http.StatusUnauthorized)
		case !ok:
			w.WriteHeader(http.StatusNotFound)
		default:
			fmt.Fprint(w, page)
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// gives opens a meter and reads it twice: the second reading uses what the first one found.
func gives(t *testing.T, spec string, o Options, want float64) {
	t.Helper()
	m, err := Open(spec, o)
	if err != nil {
		t.Errorf("%s: %v", spec, err)
		return
	}
	defer Close(m)
	for range 2 {
		if p, err := m.Read(t.Context()); err != nil || !near(p.Value, want) || p.At.IsZero() {
			t.Errorf("%s: %v, %v; want %g W", spec, p, err, want)
		}
	}
	if a := m.About(); a.Name == "" || a.Covers == "" || a.Resolution == "" || a.Every == 0 || strings.Contains(fmt.Sprint(a), "cret") {
		t.Errorf("%s: %+v", spec, a)
	}
}

func TestPlugsOverHTTP(t *testing.T) {
	shelly1 := device(t, true, map[string]string{"/shelly": `{"type": "SHPLG-S", "auth": true}`, "/status": recorded(t, "shelly1.json")})
	shelly2 := device(t, false, map[string]string{"/shelly": `{"id": "shellyplus1pm", "gen": 2}`, "/rpc/Shelly.GetStatus": recorded(t, "shelly2.json")})
	tasmota := device(t, false, map[string]string{"/cm": recorded(t, "tasmota.json")})
	o := Options{Login: login(t)}
	gives(t, "shelly:"+strings.TrimPrefix(shelly1.URL, "http://"), o, 56.36)
	gives(t, "shelly:"+strings.TrimPrefix(shelly2.URL, "http://"), Options{}, 58.9)
	gives(t, "shelly:"+strings.TrimPrefix(shelly2.URL, "http://")+"/1", Options{}, 33.5)
	gives(t, "tasmota:"+strings.TrimPrefix(tasmota.URL, "http://"), Options{}, 57)
	gives(t, "json:"+shelly1.URL+"/status#meters.0.counters.1", o, 56.4)
}

func TestRedirectsStayAtTheDevice(t *testing.T) {
	seen := false
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		seen = true
		fmt.Fprint(w, `{"w": 1}`)
	}))
	t.Cleanup(elsewhere.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/near":
			http.Redirect(w, r, "/near/", http.StatusMovedPermanently)
		case "/far":
			http.Redirect(w, r, elsewhere.URL, http.StatusMovedPermanently)
		default:
			fmt.Fprint(w, `{"w": 12}`)
		}
	}))
	t.Cleanup(s.Close)
	gives(t, "json:"+s.URL+"/near#w", Options{Login: login(t)}, 12)
	m, err := Open("json:"+s.URL+"/far#w", Options{Login: login(t)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Read(t.Context()); !errors.Is(err, errs.Denied) || seen {
		t.Errorf("it went there: %v, %v", seen, err)
	}
}

func TestTasmotaGetsItsPasswordAndNobodyElse(t *testing.T) {
	var asked string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RawQuery
		fmt.Fprint(w, recorded(t, "tasmota.json"))
	}))
	o := Options{Login: login(t)}
	gives(t, "tasmota:"+s.URL, o, 57)
	if asked != "cmnd=Status%208&password=se%3Acret%20%26%3F&user=root" {
		t.Errorf("it was asked %q", asked)
	}
	s.Close()
	m, err := Open("tasmota:"+s.URL, o)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.Read(t.Context())
	if !errors.Is(err, errs.Unavailable) || errs.RemedyOf(err) == "" || strings.Contains(fmt.Sprintf("%v %+v", err, err), "cret") {
		t.Errorf("a plug that is gone: %v", err)
	}
}

// chassis are the pages of a controller with one chassis, whose power is at the ways that are named.
func chassis(ways string, more map[string]string) map[string]string {
	pages := map[string]string{
		"/redfish/v1/Chassis":       `{"Members": [{"@odata.id": "/redfish/v1/Chassis/Disks"}, {"@odata.id": "/redfish/v1/Chassis/Self"}]}`,
		"/redfish/v1/Chassis/Disks": `{"Id": "Disks"}`,
		"/redfish/v1/Chassis/Self":  "{" + ways + "}",
	}
	for path, page := range more {
		pages[path] = page
	}
	return pages
}

func TestRedfishFindsThePower(t *testing.T) {
	const self = "/redfish/v1/Chassis/Self"
	power := `"Power": {"@odata.id": "` + self + `/Power"}`
	environment := `"EnvironmentMetrics": {"@odata.id": "` + self + `/EnvironmentMetrics"}`
	subsystem := `"PowerSubsystem": {"@odata.id": "` + self + `/PowerSubsystem"}`
	supplies := map[string]string{
		self + "/PowerSubsystem":               `{"PowerSupplies": {"@odata.id": "` + self + `/PowerSubsystem/PowerSupplies"}}`,
		self + "/PowerSubsystem/PowerSupplies": `{"Members": [{"@odata.id": "` + self + `/1"}, {"@odata.id": "` + self + `/2"}, {"@odata.id": "` + self + `/3"}]}`,
		self + "/1":                            `{"Status": {"State": "Enabled"}, "Metrics": {"@odata.id": "` + self + `/1/Metrics"}}`,
		self + "/2":                            `{"Status": {"State": "Absent"}}`,
		self + "/3":                            `{"Status": {"State": "Enabled"}, "Metrics": {"@odata.id": "` + self + `/3/Metrics"}}`,
		self + "/1/Metrics":                    `{"InputPowerWatts": {"Reading": 110.5}}`,
		self + "/3/Metrics":                    `{"InputPowerWatts": {"Reading": 100}}`,
	}
	for _, c := range []struct {
		name  string
		pages map[string]string
		want  float64
	}{
		{"the old way", chassis(power, map[string]string{self + "/Power": recorded(t, "redfish-power.json")}), 396},
		{"the new way", chassis(power+","+environment, map[string]string{self + "/Power": recorded(t, "redfish-power.json"), self + "/EnvironmentMetrics": recorded(t, "redfish-environment.json")}), 374.5},
		{"the new way without a power", chassis(power+","+environment, map[string]string{self + "/Power": recorded(t, "redfish-ilo.json"), self + "/EnvironmentMetrics": `{"FanSpeedsPercent": []}`}), 158},
		{"power supplies", chassis(subsystem, supplies), 210.5},
	} {
		s := device(t, true, c.pages)
		t.Log(c.name)
		gives(t, "redfish:"+s.URL, Options{Login: login(t)}, c.want)
		gives(t, "redfish:"+s.URL+self+"/", Options{Login: login(t)}, c.want)
	}
}

func TestControllersThatDoNotGiveAPower(t *testing.T) {
	elsewhere := device(t, false, map[string]string{"/": `{"PowerWatts": {"Reading": 1}}`})
	for _, c := range []struct {
		name  string
		pages map[string]string
		login Login
		err   error
	}{
		{"no chassis has one", chassis("", nil), login(t), errs.Unsupported},
		{"no login", chassis("", nil), Login{}, errs.Unauthenticated},
		{"no Redfish", nil, login(t), errs.NotFound},
		{"no JSON", map[string]string{"/redfish/v1/Chassis": "<html>"}, login(t), errs.Invalid},
		{"a link to another host", chassis(`"Power": {"@odata.id": "`+elsewhere.URL+`/"}`, nil), login(t), errs.Invalid},
	} {
		s := device(t, true, c.pages)
		m, err := Open("redfish:"+s.URL, Options{Login: c.login})
		if err != nil {
			t.Fatal(err)
		}
		if p, err := m.Read(t.Context()); !errors.Is(err, c.err) {
			t.Errorf("%s: %v, %v", c.name, p, err)
		}
	}
}

func TestCertificatesThatNobodySigned(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"w": 12}`) }))
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of the client that does not take its certificate
	s.StartTLS()
	t.Cleanup(s.Close)
	spec := "json:" + s.URL + "/#w"
	gives(t, spec, Options{Client: Client(true)}, 12)
	m, err := Open(spec, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Read(t.Context()); !errors.Is(err, errs.Unavailable) || !strings.Contains(errs.RemedyOf(err), "--meter-insecure") {
		t.Errorf("it was taken: %v, %s", err, errs.RemedyOf(err))
	}
}

func TestMistakesOfUsersAreNamed(t *testing.T) {
	for _, spec := range []string{"", "watt", "rapl:core", "redfish:host", "redfish:https://root:secret@host", "shelly", "shelly:http://a:secret@host", "shelly:a:secret@host/1", "tasmota:ftp://host",
		"json:http://host", "json:host#a", "scpi:host", "scpi:host:", "scpi:host:1,A\nB", "ipmi:-H", "ipmi:host", "csv:/nowhere/file"} {
		m, err := Open(spec, Options{Root: t.TempDir()})
		if err == nil {
			t.Errorf("%q is %+v", spec, m.About())
			continue
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: the error has the password", spec)
		}
	}
}

func TestALoginIsForItsOwnerOnly(t *testing.T) {
	path := filepath.Join(t.TempDir(), "login")
	for _, c := range []struct {
		text string
		mode os.FileMode
		err  error
	}{{"a:b", 0o600, nil}, {"a:b", 0o400, nil}, {"a:b", 0o640, errs.Denied}, {"a:b", 0o604, errs.Denied}, {"ab", 0o600, errs.Invalid}, {":b", 0o600, errs.Invalid}} {
		if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, c.mode); err != nil {
			t.Fatal(err)
		}
		l, err := ReadLogin(path)
		if !errors.Is(err, c.err) {
			t.Errorf("%q, mode %o: %v", c.text, c.mode, err)
		}
		if err == nil && fmt.Sprintf("%v %+v %#v", l, l, l) != "a a a" {
			t.Errorf("it prints as %#v", l)
		}
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

func TestIPMIKeepsThePasswordOutOfArguments(t *testing.T) {
	var environment, args []string
	o := Options{Login: login(t), Run: func(_ context.Context, e []string, name string, a ...string) (string, error) {
		environment, args = e, append([]string{name}, a...)
		return recorded(t, "dcmi.txt"), nil
	}}
	gives(t, "ipmi:bmc1", o, 214)
	if got := strings.Join(args, " "); got != "ipmitool -I lanplus -H bmc1 -U root -E dcmi power reading" {
		t.Errorf("arguments %q", got)
	}
	if got := strings.Join(environment, " "); got != "IPMI_PASSWORD=se:cret &?" {
		t.Errorf("environment %q", got)
	}
	gives(t, "ipmi", o, 214)
	if got := strings.Join(args, " "); got != "ipmitool dcmi power reading" || environment != nil {
		t.Errorf("arguments %q, environment %q", got, environment)
	}
}

func TestProgramsThatFailSayWhy(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
		err  error
	}{
		{[]string{"sh", "-c", "echo $IPMI_PASSWORD"}, "word\n", nil},
		{[]string{"sh", "-c", "echo a warning >&2; echo Could not open device at /dev/ipmi0 >&2; exit 1"}, "Could not open device", errs.Unavailable},
		{[]string{"hemera-no-such-program"}, "not installed", errs.NotFound},
	} {
		got, err := run(t.Context(), []string{"IPMI_PASSWORD=word"}, c.args[0], c.args[1:]...)
		if !errors.Is(err, c.err) || !strings.Contains(got+fmt.Sprint(err), c.want) {
			t.Errorf("%q: %q, %v", c.args, got, err)
		}
	}
}
