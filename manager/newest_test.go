package manager

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"hemera/rules/lifecycle"
	"hemera/words/adminapi"
	"hemera/words/errs"
	"hemera/words/hemera"
)

// convert asks for a tree or file to be stored as copies, and returns the number of the request.
func (r *rig) convert(path string, copies int) uint64 {
	r.t.Helper()
	c, err := r.m.Conversions.Convert(r.t.Context(), "tester", adminapi.ConversionRequest{Path: path, Recursive: true, Form: hemera.Form{Layout: hemera.Replica(copies)}})
	if err != nil {
		r.t.Fatal(err)
	}
	return c.ID
}

// request returns a request by its number.
func (r *rig) request(id uint64) adminapi.ConversionStatus {
	r.t.Helper()
	list, err := r.m.Conversions.Conversions(r.t.Context())
	at := slices.IndexFunc(list, func(c adminapi.ConversionStatus) bool { return c.ID == id })
	if err != nil || at < 0 {
		r.t.Fatalf("no request %d: %v", id, err)
	}
	return list[at]
}

// An older request that still tries does not undo a newer one, and says which one has taken its place.
func TestAnOlderConversionDoesNotUndoANewerOne(t *testing.T) {
	for name, c := range map[string]struct {
		older, newer string
		stop         bool
		want         string // of the older one
		state        adminapi.JobState
	}{
		"the same tree":         {"/d", "/d", false, "replaced by request 2", "replaced by 2"},
		"a part of it":          {"/d", "/d/p", false, "1 files were replaced by request 2", "done"},
		"the file":              {"/d", "/d/p/f", false, "1 files were replaced by request 2", "done"},
		"all of it":             {"/d/p", "/d", false, "replaced by request 2", "replaced by 2"},
		"a newer that is ended": {"/d", "/d", true, "replaced by request 2", "replaced by 2"},
	} {
		t.Run(name, func(t *testing.T) {
			running(t, 2, 2, func(t *testing.T, r *rig) {
				r.write("/d/p/f", 100)
				writer := r.mustOpen("/d/p/f", hemera.AccessUpdate)
				older := r.convert(c.older, 4)
				time.Sleep(time.Minute)
				if now := r.request(older); now.Skipped != 1 {
					t.Fatalf("%+v", now)
				}
				newer := r.convert(c.newer, 3)
				if c.stop {
					if err := r.m.Conversions.StopConversion(t.Context(), newer); err != nil {
						t.Fatal(err)
					}
				}
				if _, err := r.commit(r.seal(writer, 200)); err != nil {
					t.Fatal(err)
				}
				time.Sleep(2 * time.Hour)
				want := hemera.Replica(3)
				if c.stop { // it is left as it is
					want = hemera.Replica(2)
				}
				if e := r.entry("/d/p/f"); e.Layout != want {
					t.Errorf("the file is %s", e.Layout)
				}
				if now := r.request(older); now.Ended.IsZero() || now.Done != 0 || now.Failed+now.Skipped != 0 && !strings.HasPrefix(now.Why, "replaced") || now.Why != c.want || now.Job.State != c.state ||
					(now.Job.Progress() == 100) != (c.state == "done") {
					t.Errorf("the older one: %+v", now)
				}
			})
		})
	}
}

// A request is newer than the rules that were there, and rules that are set later are newer than a request.
func TestARequestBesideRulesThatConvert(t *testing.T) {
	running(t, 2, 2, func(t *testing.T, r *rig) {
		r.write("/d/f", 100)
		r.rule("/d", lifecycle.AttrConvert, "layout=replica:3")
		time.Sleep(2 * time.Hour)
		is := func(what string, copies int) {
			t.Helper()
			if e := r.entry("/d/f"); e.Layout != hemera.Replica(copies) {
				t.Errorf("%s: %s", what, e.Layout)
			}
		}
		is("by the rule", 3)
		done := r.convert("/d", 4)
		time.Sleep(6 * time.Hour)
		is("by the request", 4)
		if now := r.request(done); now.Done != 1 || now.Why != "" {
			t.Errorf("%+v", now)
		}
		r.rule("/d", lifecycle.AttrConvert, "layout=replica:2")
		time.Sleep(2 * time.Hour)
		is("by the rule that was set later", 2)
		r.write("/d/new", 100)
		r.convert("/d/f", 3)
		time.Sleep(2 * time.Hour)
		is("by a later request", 3)
		r.write("/d/f", 200)
		time.Sleep(3 * time.Hour)
		is("written after the request had ended", 2)
	})
}

// Whatever the order of requests, stops, writers and rests: each file ends as the newest request about it says.
func TestConversionsInAnyOrder(t *testing.T) {
	for seed := range uint64(12) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			running(t, 2, 2, func(t *testing.T, r *rig) {
				rng := rand.New(rand.NewPCG(seed, 7))
				files := []string{"/d/a", "/d/p/b", "/d/p/q/c"}
				roots := append([]string{"/d", "/d/p", "/d/p/q"}, files...)
				for _, f := range files {
					r.write(f, 100)
				}
				type asked struct {
					id      uint64
					root    string
					copies  int
					stopped bool
				}
				var all []asked
				open := map[string]hemera.Grant{}
				for range 25 {
					switch rng.IntN(5) {
					case 0, 1:
						one := asked{root: roots[rng.IntN(len(roots))], copies: 2 + rng.IntN(3)}
						one.id = r.convert(one.root, one.copies)
						all = append(all, one)
					case 2:
						f := files[rng.IntN(len(files))]
						if g, is := open[f]; is {
							_, _ = r.commit(r.seal(g, 100)) // it may meet a conversion
							delete(open, f)
						} else if g, err := r.open(f, hemera.AccessUpdate); err == nil {
							open[f] = g
						}
					case 3:
						time.Sleep(time.Duration(rng.Int64N(int64(5 * time.Minute))))
					case 4:
						if len(all) > 0 && rng.IntN(3) == 0 {
							i := rng.IntN(len(all))
							ended := !r.request(all[i].id).Ended.IsZero()
							if err := r.m.Conversions.StopConversion(t.Context(), all[i].id); err != nil {
								t.Fatal(err)
							}
							all[i].stopped = !ended
						}
					}
				}
				for f, g := range open {
					_, _ = r.commit(r.seal(g, 100))
					delete(open, f)
				}
				time.Sleep(3 * time.Hour)
				for _, f := range files {
					for _, one := range slices.Backward(all) {
						if f != one.root && !strings.HasPrefix(f, one.root+"/") {
							continue
						}
						if e := r.entry(f); !one.stopped && e.Layout != hemera.Replica(one.copies) {
							t.Errorf("%s is %s, and request %d, the newest, says %d copies: %+v", f, e.Layout, one.id, one.copies, r.request(one.id))
						}
						break
					}
				}
			})
		})
	}
}

// The commit of a conversion counts only while this manager waits for it: a newer request may have found the file as it is to be.
func TestALateConversionIsRefused(t *testing.T) {
	r := newRig(t, 2, 2)
	e := r.write("/f", 100)
	grant := func() (commit func() hemera.OrderResult, end func()) {
		t.Helper()
		g, err := r.grants().GrantConversion(t.Context(), e.ID, r.entry("/f").Gen, hemera.Form{Layout: hemera.Replica(3)})
		if err != nil {
			t.Fatal(err)
		}
		return func() hemera.OrderResult { return r.node(g.Node).convert(g.Order) }, g.End
	}
	refused := func(when string, result hemera.OrderResult) {
		t.Helper()
		if !result.Failed || errs.Kind(result.ErrKind) != errs.Conflict || r.entry("/f").Gen != e.Gen {
			t.Errorf("%s: %+v, generation %d", when, result, r.entry("/f").Gen)
		}
	}
	earlier, _ := grant()
	r.restart()
	for _, n := range r.nodes {
		n.register()
	}
	refused("granted before a restart", earlier())
	late, end := grant()
	end()
	refused("nobody waits for it", late())
	now, end := grant()
	if result := now(); result.Failed || r.entry("/f").Layout != hemera.Replica(3) {
		t.Errorf("%+v", result)
	}
	end()
	if again := now(); again.Failed {
		t.Errorf("the request that comes again: %+v", again)
	}
}

// A newer request about the layout leaves the older one its space and its checksum.
func TestAnOlderConversionKeepsItsOtherParts(t *testing.T) {
	running(t, 2, 2, func(t *testing.T, r *rig) {
		r.write("/d/f", 100)
		writer := r.mustOpen("/d/f", hemera.AccessUpdate)
		older, err := r.m.Conversions.Convert(t.Context(), "tester", adminapi.ConversionRequest{Path: "/d", Recursive: true, Form: hemera.Form{Layout: hemera.Replica(4), Checksum: hemera.SHA256}})
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		r.convert("/d", 3)
		if _, err := r.commit(r.seal(writer, 200)); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Hour)
		e := r.entry("/d/f")
		if _, has := hemera.FindChecksum(e.Checksums, hemera.SHA256); !has || e.Layout != hemera.Replica(3) {
			t.Errorf("%s with %v", e.Layout, e.Checksums)
		}
		if now := r.request(older.ID); now.Ended.IsZero() || now.Done != 1 || now.Why != "" {
			t.Errorf("%+v", now)
		}
	})
}
