package xrootd

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"hemera/rules/wire"
	"hemera/words/errs"
)

func TestBrief(t *testing.T) {
	const subject = "root://host:1094//exp/f"
	for _, c := range []struct{ text, want string }{
		{"namespace.Stat /exp/f: no such file or directory [trace 1]", "no such file or directory [trace 1]"},
		{"open /exp/f: layout.Decide sys.forced.nstripes=17: it takes a number", "layout.Decide sys.forced.nstripes=17: it takes a number"},
		{"namespace.Rename /exp/other: the name is taken", "namespace.Rename /exp/other: the name is taken"},
		{"namespace.Stat f: it is elsewhere", "namespace.Stat f: it is elsewhere"},
		{"Unable to open /exp/f; no such file or directory", "Unable to open /exp/f; no such file or directory"},
		{"no more: really", "no more: really"},
		{"", ""},
	} {
		if got := brief(c.text, subject); got != c.want {
			t.Errorf("%q became %q", c.text, got)
		}
	}
}

func TestParseURL(t *testing.T) {
	for _, c := range []struct{ in, user, addr, path, opaque string }{
		{"root://host//a/b", "", "host:1094", "/a/b", ""},
		{"root://host:2000/a", "", "host:2000", "/a", ""},
		{"root://host", "", "host:1094", "/", ""},
		{"xroot://me@host:1//a//b/?x=1&y=/z?", "me", "host:1", "/a/b/", "x=1&y=/z?"},
		{"root://me:secret@host//a", "me", "host:1094", "/a", ""},
		{"root://[::1]:1095//a%20b", "", "[::1]:1095", "/a%20b", ""},
		{"root://::1//a", "", "[::1]:1094", "/a", ""},
		{"root://[fe80::1%eth0]:1095//a", "", "[fe80::1%eth0]:1095", "/a", ""},
		{"root://a@b@host//a", "a@b", "host:1094", "/a", ""},
	} {
		u, err := ParseURL(c.in)
		if err != nil || u.User != c.user || u.Addr() != c.addr || u.Path != c.path || string(u.Opaque) != c.opaque {
			t.Errorf("%s is %+v, %v", c.in, u, err)
			continue
		}
		if again, err := ParseURL(u.String()); err != nil || again != u {
			t.Errorf("%s prints as %s, which is %+v, %v", c.in, u, again, err)
		}
	}
	for _, bad := range []string{"", "host", "http://host/a", "root://", "root:///a", "root://host:0//a", "root://host:x//a", "root://a:b:c//a", "root://[fe80::1%]:1094//a", "root://[fe80::1%]//a", "root://host//a/../b"} {
		if u, err := ParseURL(bad); !errors.Is(err, errs.Invalid) {
			t.Errorf("%q is %+v, %v", bad, u, err)
		}
	}
}

func FuzzParseURL(f *testing.F) {
	f.Add("root://me@host:1//a/b?x=1")
	f.Fuzz(func(t *testing.T, s string) {
		u, err := ParseURL(s)
		if err != nil {
			return
		}
		if again, err := ParseURL(u.String()); err != nil || again != u {
			t.Errorf("%q prints as %q, which is %+v, %v", s, u, again, err)
		}
	})
}

func at(host string) Endpoint { return Endpoint{Host: host, Port: 1} }

func TestRouteForgetsAndRemembers(t *testing.T) {
	r := newRoute(URL{Endpoint: Endpoint{User: "me", Host: "manager", Port: 1}, Path: "/f", Opaque: "a=1"})
	if _, ok := r.failed(errs.IO); ok {
		t.Error("without a manager there is nowhere to go")
	}
	r, err := r.redirected(redirection{to: at("node1"), opaque: "hem.node=1&hem.cap=x&a=2"})
	if err != nil || r.url.Host != "node1" || r.url.User != "me" || r.url.Opaque.Value("a") != "2" {
		t.Fatalf("redirected to %+v, %v", r, err)
	}
	if _, ok := r.failed(errs.Denied); ok {
		t.Error("every server denies alike")
	}
	back, ok := r.failed(errs.IO)
	if !ok || back.url.Host != "manager" || back.url.Opaque != "a=2&tried=node1&triedrc=ioerr&hem.node=1" {
		t.Fatalf("after a failure %+v", back)
	}
	r, _ = back.redirected(redirection{to: at("node2"), path: "/g", opaque: "hem.node=2&hem.cap=y"})
	if r.url.Path != "/g" || r.url.Opaque != "a=2&hem.node=2&hem.cap=y" {
		t.Errorf("second redirect: %s", r.url)
	}
	back, ok = r.failed(errs.NotFound)
	if !ok || back.url.Opaque != "a=2&tried=node1,node2&triedrc=ioerr,enoent&hem.node=1,2" {
		t.Errorf("second failure: %s", back.url)
	}
	if _, ok := back.failed(errs.NotFound); ok {
		t.Error("the manager's own answer is final")
	}
}

func TestRouteGivesUpAfterManyServers(t *testing.T) {
	r := newRoute(URL{Endpoint: at("manager"), Path: "/f"})
	n := 0
	for ; n < 100; n++ {
		r, _ = r.redirected(redirection{to: at(fmt.Sprint("node", n))})
		var ok bool
		if r, ok = r.failed(errs.Unavailable); !ok {
			break
		}
	}
	if n != failoversMax {
		t.Errorf("gave up after %d servers", n)
	}
}

func TestParseRedirect(t *testing.T) {
	for _, c := range []struct {
		w    wire.Redirect
		want redirection
	}{
		{wire.Redirect{Port: 5, Host: "h", Opaque: "a=b"}, redirection{to: Endpoint{Host: "h", Port: 5}, opaque: "a=b"}},
		{wire.Redirect{Port: 5, Host: "[::1]"}, redirection{to: Endpoint{Host: "::1", Port: 5}}},
		{wire.Redirect{Port: -1, Host: "root://u@h:7//p", Opaque: "a=b"}, redirection{to: Endpoint{User: "u", Host: "h", Port: 7}, path: "/p", opaque: "a=b"}},
		{wire.Redirect{Port: -1, Host: "root://h:7/"}, redirection{to: Endpoint{Host: "h", Port: 7}}},
	} {
		if got, err := parseRedirect(c.w.Append(nil)); err != nil || got != c.want {
			t.Errorf("%+v is %+v, %v", c.w, got, err)
		}
	}
	for _, body := range []string{"", "\xff\xff\xff\xff", "\xff\xff\xff\xffhttp://h/"} {
		if got, err := parseRedirect([]byte(body)); err == nil {
			t.Errorf("%q is %+v", body, got)
		}
	}
}

func TestPolicy(t *testing.T) {
	r := newRoute(URL{Endpoint: at("node"), Path: "/f"})
	managed, _ := newRoute(URL{Endpoint: at("manager"), Path: "/f"}).redirected(redirection{to: at("node")})
	p := policy{op: "test", retryFor: time.Second, waitFor: 10 * time.Second}
	again, failover := p, p
	again.repeatable, failover.failover = true, true
	dead, unsent := lost(at("node"), true, nil), lost(at("node"), false, nil)
	wait := answer{status: wire.StatusWait, body: wire.Wait{Seconds: 6}.Append(nil)}
	ioError := answer{status: wire.StatusError, body: wire.AppendError(nil, wire.Error{Code: wire.IOError, Text: "x"})}
	tried, _ := managed.failed(errs.Unavailable)
	none := answer{status: wire.StatusError, body: wire.AppendError(nil, wire.Error{Code: wire.NoReplicas, Text: "x"})}
	locked := answer{status: wire.StatusError, body: wire.AppendError(nil, wire.Error{Code: wire.FileLocked, Text: "x"})}
	for _, c := range []struct {
		name  string
		p     policy
		r     route
		a     answer
		e     attempts
		stop  bool
		kind  errs.Kind // when stop; Internal for success
		delay time.Duration
		host  string
	}{
		{"good", p, r, answer{}, attempts{}, true, errs.Internal, 0, ""},
		{"refused", p, r, ioError, attempts{}, true, errs.IO, 0, ""},
		{"refused, others may do", failover, managed, ioError, attempts{}, false, 0, 0, "manager"},
		{"refused, alone", failover, r, ioError, attempts{}, true, errs.IO, 0, ""},
		{"wait", p, r, wait, attempts{}, false, 0, 6 * time.Second, "node"},
		{"wait again", p, r, wait, attempts{waited: 6 * time.Second}, true, errs.Timeout, 0, ""},
		{"lost, not harmless", p, r, answer{err: dead}, attempts{}, true, errs.Unavailable, 0, ""},
		{"lost, harmless", again, r, answer{err: dead}, attempts{}, false, 0, 50 * time.Millisecond, "node"},
		{"never sent", p, r, answer{err: unsent}, attempts{failures: 2}, false, 0, 200 * time.Millisecond, "node"},
		{"never sent, too long", p, r, answer{err: unsent}, attempts{failing: time.Second}, true, errs.Unavailable, 0, ""},
		{"never sent, others may do", failover, managed, answer{err: unsent}, attempts{}, false, 0, 0, "manager"},
		{"all tried, after losses", failover, tried, none, attempts{lost: true}, false, 0, 50 * time.Millisecond, "manager"},
		{"all tried, without losses", failover, tried, none, attempts{}, true, errs.NoReplicas, 0, ""},
		{"none at all", failover, r, none, attempts{lost: true}, true, errs.NoReplicas, 0, ""},
		{"own lock", p, r, locked, attempts{lost: true}, false, 0, 50 * time.Millisecond, "node"},
		{"own lock, too long", p, r, locked, attempts{lost: true, failing: time.Second}, true, errs.Locked, 0, ""},
		{"another's lock", p, r, locked, attempts{}, true, errs.Locked, 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := c.p.decide(c.r, c.a, c.e)
			if v.stop != c.stop || v.delay != c.delay || (!v.stop && v.route.url.Host != c.host) {
				t.Errorf("decision %+v", v)
			}
			if v.stop && ((v.err == nil) != (c.kind == errs.Internal) || (v.err != nil && !errors.Is(v.err, c.kind))) {
				t.Errorf("error %v", v.err)
			}
		})
	}
}

// FuzzListing cuts a listing at any place. The result must be the same as that of the decoder for whole listings.
func FuzzListing(f *testing.F) {
	whole := wire.AppendDirlistLead(nil)
	for i := range 3 {
		whole = wire.DirEntry{Name: fmt.Sprintf("name %d", i), Stat: &wire.StatInfo{ID: uint64(i), Size: 5}}.Append(whole)
	}
	f.Add(string(wire.EndDirlist(whole)), 20)
	f.Add("a\nb\x00", 1)
	f.Add("", 0)
	f.Fuzz(func(t *testing.T, text string, cut int) {
		body := strings.TrimRight(text, "\n\x00")
		if strings.ContainsAny(body, "\x00/") || strings.Contains(body, "\n\n") || strings.HasPrefix(body, "\n") || strings.Contains(body, "\n.") {
			return // no server's listing
		}
		if lead := ".\n0 0 0 0"; strings.HasPrefix(body, ".") && body != lead && !strings.HasPrefix(body, lead+"\n") {
			return
		}
		want, err := wire.ParseDirlist([]byte(text))
		if err != nil {
			return
		}
		var got []Info
		var l listing
		visit := func(i Info) error { got = append(got, i); return nil }
		cut = min(max(cut, 0), len(text))
		for _, part := range []string{text[:cut], text[cut:]} {
			if err := l.feed([]byte(part), false, visit); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
		}
		if err := l.feed(nil, true, visit); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		if len(got) != len(want) {
			t.Fatalf("%q cut at %d: %d entries, want %d", text, cut, len(got), len(want))
		}
		for i := range got {
			if got[i].Name != want[i].Name || (want[i].Stat != nil && got[i].StatInfo != *want[i].Stat) {
				t.Errorf("%q: entry %d is %+v", text, i, got[i])
			}
		}
	})
}

// A copy joins listed names to its target, so no name may lead out of the directory.
func TestAListedNameStaysInItsDirectory(t *testing.T) {
	stat := "\n1 2 0 3\n"
	for text, want := range map[string]string{
		".\n0 0 0 0\na" + stat + ".." + stat + "b" + stat: "a b",
		".\n0 0 0 0\n../b" + stat:                         "error",
		".\n0 0 0 0\n/etc/passwd" + stat:                  "error",
		"..\n.\na\n":                                      "a",
		"a\n../../b\n":                                    "error",
	} {
		var names []string
		var l listing
		got := "error"
		if err := l.feed([]byte(text), true, func(i Info) error { names = append(names, i.Name); return nil }); err == nil {
			got = strings.Join(names, " ")
		}
		if got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestWatchJudges(t *testing.T) {
	now := time.Unix(1000, 0)
	ago := func(d time.Duration) time.Time { return now.Add(-d) }
	for _, c := range []struct {
		name  string
		heard time.Time
		users int64
		call  *call
		want  watchAction
	}{
		{"fresh", now, 0, nil, watchNothing},
		{"unused", ago(3 * time.Minute), 0, nil, watchIdle},
		{"used and quiet", ago(time.Minute), 1, nil, watchPing},
		{"asked just now", ago(time.Hour), 1, &call{since: ago(time.Second), silenceMax: time.Minute}, watchNothing},
		{"asked long ago, heard since", ago(time.Second), 1, &call{since: ago(time.Hour), silenceMax: time.Minute}, watchNothing},
		{"silent", ago(2 * time.Minute), 1, &call{since: ago(time.Hour), silenceMax: time.Minute}, watchStalled},
		{"promised for later", ago(2 * time.Minute), 1, &call{since: ago(time.Hour), late: now.Add(time.Minute), silenceMax: time.Minute}, watchNothing},
	} {
		k := &Conn{opts: Options{}.withDefaults(), calls: []*call{c.call}}
		k.heard.Store(c.heard.UnixNano())
		k.users.Store(c.users)
		if got := k.nextAction(now); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
