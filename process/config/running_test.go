package config

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"

	"hemera/words/errs"
)

// running returns the settings of a server that has a file, flags and a data directory.
func running(t *testing.T, file string, env map[string]string, args ...string) (*Running, Sources) {
	t.Helper()
	from := sources(t, "\n", env, append(args, "--data="+t.TempDir())...)
	from.Kept = true
	rewrite(t, from, file)
	l, err := Load(from)
	if err != nil {
		t.Fatal(err)
	}
	return NewRunning(from, l), from
}

func rewrite(t *testing.T, from Sources, file string) {
	t.Helper()
	if err := os.WriteFile(from.File, []byte(file), 0o600); err != nil {
		t.Fatal(err)
	}
}

// change requests a change, and returns what was applied: zero if nothing was.
func change(t *testing.T, r *Running, set map[string]string, unset ...string) ([]Changed, Config, error) {
	t.Helper()
	var applied Config
	changes, err := r.Change(t.Context(), set, unset, func(c Config, _ []Changed) { applied = c })
	return changes, applied, err
}

func TestAFileIsReadAgain(t *testing.T) {
	r, from := running(t, "port = 1\n[repair]\ngrace = '7s'\n", nil)
	if changes, now, err := change(t, r, nil); err != nil || len(changes) != 0 || now.Data != "" {
		t.Fatalf("nothing is different: %+v, %v", changes, err)
	}
	rewrite(t, from, "port = 2\n[repair]\ngrace = '9s'\n[tpc]\nallow = ['10.1.0.0/16']\n[log]\nformat = 'json'\nlevel = 'warn'")
	for range 2 { // a setting that needs a restart is reported each time
		changes, now, err := change(t, r, nil)
		if err != nil {
			t.Fatal(err)
		}
		first := slices.ContainsFunc(changes, func(c Changed) bool { return !c.Restart })
		if c := r.Config(); c.Port != 1 || c.Log.Format != "auto" || c.Repair.Grace != 9*time.Second || len(c.TPC.Allow) != 1 || c.Log.Level != 4 || first && now.Repair.Grace != 9*time.Second {
			t.Errorf("in force: %+v", c)
		}
		i := slices.IndexFunc(changes, func(c Changed) bool { return c.Key == "port" })
		if i < 0 || changes[i].Was != "1" || changes[i].Value != "2" || !changes[i].Restart || !strings.HasSuffix(changes[i].Source, ":1") {
			t.Errorf("%+v", changes)
		}
		if want := map[bool]int{true: 5, false: 2}[first]; len(changes) != want {
			t.Errorf("first %v: %+v", first, changes)
		}
	}
	rewrite(t, from, "port = 1\n")
	if changes, _, err := change(t, r, nil); err != nil || len(changes) != 3 || r.Config().Repair.Grace != 5*time.Minute {
		t.Errorf("back to defaults: %+v, %v", changes, err)
	}
}

func TestAWrongFileChangesNothing(t *testing.T) {
	r, from := running(t, "[repair]\ngrace = '7s'\n", nil)
	for file, at := range map[string]string{
		"[repair]\ngrace = '9s'\n[uq]\nx = 1": ":4", "[repair]\ngrace = 'soon'": ":2", "[repair]\ngrace = '9s'\nport = ": ":3",
		"[repair]\ngrace = '9s'\n[tpc]\nallow = ['10.1.2.3/16']": ":4",
	} {
		rewrite(t, from, file)
		changes, now, err := change(t, r, nil)
		if err == nil || !strings.Contains(err.Error(), from.File+at) || len(changes) != 0 || now.Data != "" || r.Config().Repair.Grace != 7*time.Second {
			t.Errorf("%q: %+v, %v", file, changes, err)
		}
	}
}

func TestSetIsKept(t *testing.T) {
	r, from := running(t, "[repair]\ngrace = '7s'\n", nil)
	changes, now, err := change(t, r, map[string]string{"repair.grace": "1h", "auth.trusted_networks": "10.1.0.0/16=own, fd00::/8", "http.hosts": ""})
	if err != nil || len(changes) != 2 || now.Repair.Grace != time.Hour || len(now.Auth.TrustedNetworks) != 2 {
		t.Fatalf("%+v, %+v, %v", changes, now, err)
	}
	// The next start uses it, with precedence over the file.
	l, err := Load(from)
	if v := l.value("repair.grace"); err != nil || l.Repair.Grace != time.Hour || len(l.Auth.TrustedNetworks) != 2 || !strings.Contains(v.Source, KeptFile+":") {
		t.Fatalf("%+v, %v", v, err)
	}
	if changes, now, err = change(t, r, map[string]string{"log.level": "debug"}, "repair.grace"); err != nil || len(changes) != 2 || now.Repair.Grace != 7*time.Second {
		t.Errorf("%+v, %v", changes, err)
	}
	if l, err = Load(from); err != nil || l.Repair.Grace != 7*time.Second || len(l.Auth.TrustedNetworks) != 2 || l.Log.Level != -4 {
		t.Errorf("%+v, %v", l.Config, err)
	}
	// Without it, as for a node in another directory.
	from.Kept = false
	if l, err = Load(from); err != nil || len(l.Auth.TrustedNetworks) != 0 {
		t.Errorf("%+v, %v", l.Config, err)
	}
}

func TestWhatCannotBeSet(t *testing.T) {
	r, from := running(t, "", map[string]string{"HEMERA_REMOVAL_HOLD": "1m"}, "--repair-grace=1m")
	some := pflag.NewFlagSet("a manager", pflag.ContinueOnError)
	Register(some, "data", "port", "repair", "removal", "auth", "log")
	if err := some.Parse([]string{"--data=" + r.Config().Data, "--repair-grace=1m"}); err != nil {
		t.Fatal(err)
	}
	r.from.Flags = some
	for key, want := range map[string][2]string{
		"port":                  {"restart only", "repair.grace"},
		"repair.grase":          {"not a setting", "did you mean repair.grace?"},
		"repair.grace":          {"--repair-grace", "restart"},
		"removal.hold":          {"HEMERA_REMOVAL_HOLD", "restart"},
		"scrub.rate":            {"does not have", "SIGHUP"},
		"auth.trusted_networks": {"config set", "10.1.0.0/16"},
	} {
		_, now, err := change(t, r, map[string]string{key: "x", "log.level": "debug"})
		if err == nil || !strings.Contains(err.Error(), key) || !strings.Contains(err.Error(), want[0]) || !strings.Contains(errs.RemedyOf(err), want[1]) || now.Data != "" {
			t.Errorf("%s: %v; %s", key, err, errs.RemedyOf(err))
		}
	}
	if _, err := os.Stat(filepath.Join(r.Config().Data, KeptFile)); err == nil || r.Config().Log.Level != 0 {
		t.Error("a refused change left something")
	}
	// A live setting that an admin writes there by hand is used too.
	if err := os.WriteFile(filepath.Join(r.Config().Data, KeptFile), []byte("port = 5"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(from); err == nil || !strings.Contains(err.Error(), KeptFile+":1") {
		t.Errorf("a setting that is not live: %v", err)
	}
}

// TestLiveSettingsAreInTables: the file of `hemera config set` has tables only.
func TestLiveSettingsAreInTables(t *testing.T) {
	for _, s := range settings() {
		if s.live && (s.secret || strings.Count(s.key, ".") != 1) {
			t.Errorf("%s cannot be kept", s.key)
		}
	}
}
