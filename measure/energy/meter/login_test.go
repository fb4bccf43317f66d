package meter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hemera/words/errs"
)

// login returns a login for tests.
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

func TestMistakesOfUsersAreNamed(t *testing.T) {
	for _, spec := range []string{"", "watt", "rapl:core", "shelly:host", "ipmi:-H", "ipmi:host", "csv:/nowhere/file"} {
		m, err := Open(spec, Options{Root: t.TempDir()})
		if err == nil {
			t.Errorf("%q is %+v", spec, m.About())
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
