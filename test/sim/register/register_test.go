package sim

import "testing"

func TestOracle(t *testing.T) {
	for _, c := range []struct {
		name  string
		play  func(*oracle) (start instant)
		may   []content
		never []content
	}{
		{"nothing was written", func(o *oracle) instant { return o.tick() }, []content{absent}, []content{"a"}},
		{"acknowledged", func(o *oracle) instant {
			o.end(o.begin("/f", "x", "a"), true, false)
			return o.tick()
		}, []content{"a"}, []content{absent, "b"}},
		{"overwritten", func(o *oracle) instant {
			o.end(o.begin("/f", "x", "a"), true, false)
			o.end(o.begin("/f", "x", "b"), true, false)
			return o.tick()
		}, []content{"b"}, []content{absent, "a"}},
		{"read while it is overwritten", func(o *oracle) instant {
			o.end(o.begin("/f", "x", "a"), true, false)
			b := o.begin("/f", "x", "b")
			start := o.tick()
			o.end(b, true, false)
			return start
		}, []content{"a", "b"}, []content{absent}},
		{"two at once", func(o *oracle) instant {
			a, b := o.begin("/f", "x", "a"), o.begin("/f", "y", "b")
			o.end(a, true, false)
			o.end(b, true, false)
			return o.tick()
		}, []content{"a", "b"}, []content{absent}},
		{"refused", func(o *oracle) instant {
			o.end(o.begin("/f", "x", "a"), true, false)
			o.end(o.begin("/f", "x", "b"), false, true)
			return o.tick()
		}, []content{"a"}, []content{"b"}},
		{"in doubt", func(o *oracle) instant {
			o.end(o.begin("/f", "x", "a"), true, false)
			o.end(o.begin("/f", "x", "b"), false, false)
			return o.tick()
		}, []content{"a", "b"}, []content{absent}},
		{"its directory was renamed", func(o *oracle) instant {
			o.end(o.begin("/d/f", "x", "a"), true, false)
			o.moved("/d", "")
			if wrong := o.read("/d/f", o.tick(), absent); wrong != "" {
				t.Error(wrong)
			}
			return o.tick()
		}, []content{"a"}, []content{absent}},
	} {
		o := newOracle()
		start := c.play(o)
		for _, v := range c.may {
			if wrong := o.read("/f", start, v); wrong != "" {
				t.Errorf("%s: %s", c.name, wrong)
			}
		}
		for _, v := range c.never {
			if o.read("/f", start, v) == "" {
				t.Errorf("%s: %s is accepted", c.name, v)
			}
		}
	}
}
