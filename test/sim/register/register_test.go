package register

import "testing"

func TestOracle(t *testing.T) {
	for _, c := range []struct {
		name  string
		play  func(*Oracle) (start Instant)
		may   []Content
		never []Content
	}{
		{"nothing was written", func(o *Oracle) Instant { return o.Tick() }, []Content{Absent}, []Content{"a"}},
		{"acknowledged", func(o *Oracle) Instant {
			o.End(o.Begin("/f", "x", "a"), true, false)
			return o.Tick()
		}, []Content{"a"}, []Content{Absent, "b"}},
		{"overwritten", func(o *Oracle) Instant {
			o.End(o.Begin("/f", "x", "a"), true, false)
			o.End(o.Begin("/f", "x", "b"), true, false)
			return o.Tick()
		}, []Content{"b"}, []Content{Absent, "a"}},
		{"read while it is overwritten", func(o *Oracle) Instant {
			o.End(o.Begin("/f", "x", "a"), true, false)
			b := o.Begin("/f", "x", "b")
			start := o.Tick()
			o.End(b, true, false)
			return start
		}, []Content{"a", "b"}, []Content{Absent}},
		{"two at once", func(o *Oracle) Instant {
			a, b := o.Begin("/f", "x", "a"), o.Begin("/f", "y", "b")
			o.End(a, true, false)
			o.End(b, true, false)
			return o.Tick()
		}, []Content{"a", "b"}, []Content{Absent}},
		{"refused", func(o *Oracle) Instant {
			o.End(o.Begin("/f", "x", "a"), true, false)
			o.End(o.Begin("/f", "x", "b"), false, true)
			return o.Tick()
		}, []Content{"a"}, []Content{"b"}},
		{"in doubt", func(o *Oracle) Instant {
			o.End(o.Begin("/f", "x", "a"), true, false)
			o.End(o.Begin("/f", "x", "b"), false, false)
			return o.Tick()
		}, []Content{"a", "b"}, []Content{Absent}},
		{"its directory was renamed", func(o *Oracle) Instant {
			o.End(o.Begin("/d/f", "x", "a"), true, false)
			o.Moved("/d", "")
			if wrong := o.Read("/d/f", o.Tick(), Absent); wrong != "" {
				t.Error(wrong)
			}
			return o.Tick()
		}, []Content{"a"}, []Content{Absent}},
	} {
		o := New()
		start := c.play(o)
		for _, v := range c.may {
			if wrong := o.Read("/f", start, v); wrong != "" {
				t.Errorf("%s: %s", c.name, wrong)
			}
		}
		for _, v := range c.never {
			if o.Read("/f", start, v) == "" {
				t.Errorf("%s: %s is accepted", c.name, v)
			}
		}
	}
}
