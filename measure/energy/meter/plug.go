package meter

import (
	"context"
	"net/url"
	"strings"
	"time"

	"hemera/words/errs"
)

// plug is a device that answers one page of HTTP with its power.
type plug struct {
	about About
	o     Options
	page  string                      // the address; it may hold a password
	login bool                        // as the header of a request
	parse func(any) (float64, error)  // finds W in the page
	find  func(context.Context) error // finds page and parse, if they are not known from the start
}

// About implements Meter.
func (p *plug) About() About { return p.about }

// Read implements Meter.
func (p *plug) Read(ctx context.Context) (Point, error) {
	// Once; a device does not change its generation.
	if p.find != nil {
		if err := p.find(ctx); err != nil {
			return Point{}, err
		}
		p.find = nil
	}
	began := p.o.Now()
	page, err := ask(ctx, p.o, p.page, p.login)
	if err != nil {
		return Point{}, err
	}
	watts, err := p.parse(page)
	return Point{At: middle(began, p.o.Now()), Value: watts}, err
}

// newPlug makes a plug of a kind at an address.
func newPlug(kind, at string, o Options) (*plug, error) {
	// The address is checked now: a mistake must not wait for the level to begin.
	u, err := url.Parse(at)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, errs.New(errs.Invalid, "meter.OpenPlug", kind, "it takes the host of a device").WithRemedy("write " + kind + ":192.0.2.7")
	}
	if u.User != nil {
		return nil, errs.New(errs.Invalid, "meter.OpenPlug", kind, "a password in an address is visible to others").WithRemedy("name a file with USER:PASSWORD by --meter-login")
	}
	return &plug{o: o, about: About{Name: kind + ":" + u.Host, Every: time.Second,
		Covers: "what is plugged into " + u.Host + ", with the losses of its power supply", Resolution: "0.1 W, about every second"}}, nil
}

// openShelly takes HOST, or HOST/CHANNEL of a device with several. The first reading finds its generation.
func openShelly(rest string, o Options) (Meter, error) {
	host, channel := base(rest), "0"
	if u, err := url.Parse(host); err == nil && u.Path != "" {
		channel, u.Path = strings.Trim(u.Path, "/"), ""
		host = u.String()
	}
	p, err := newPlug("shelly", host, o)
	if err != nil {
		return nil, err
	}
	if channel != "0" {
		p.about.Name += "/" + channel
	}
	// The first generation wants the password itself, the second a digest of it.
	p.login = true
	p.find = func(ctx context.Context) error {
		// Both generations answer this page without a password.
		page, err := ask(ctx, o, host+"/shelly", false)
		if err != nil {
			return err
		}
		if gen, ok := number(page, "gen"); ok && gen >= 2 {
			p.login, p.o.Client = false, o.Login.digesting(o.Client)
			p.page, p.parse = host+"/rpc/Shelly.GetStatus", func(page any) (float64, error) { return parseShelly2(page, channel) }
			return nil
		}
		p.page, p.parse = host+"/status", func(page any) (float64, error) { return parseShelly1(page, channel) }
		return nil
	}
	return p, nil
}

// parseShelly1 finds the power in /status of the first generation: of a relay's meter, or of an energy meter.
func parseShelly1(page any, channel string) (float64, error) {
	for _, kind := range []string{"meters", "emeters"} {
		// A meter that has just started says that its value is not valid.
		if valid, known := dig(page, kind, channel, "is_valid").(bool); known && !valid {
			return 0, errs.New(errs.Unavailable, "meter.ParseShelly", channel, "the plug has no valid value yet")
		}
		if w, ok := number(page, kind, channel, "power"); ok {
			return w, nil
		}
	}
	return 0, noPower("meter.ParseShelly", channel)
}

// parseShelly2 finds the power in Shelly.GetStatus of the second and later generations: of a switch, a meter of one phase, or
// one of three phases.
func parseShelly2(page any, channel string) (float64, error) {
	for _, c := range []struct{ component, field string }{{"switch:", "apower"}, {"pm1:", "apower"}, {"em:", "total_act_power"}, {"em1:", "act_power"}} {
		if w, ok := number(page, c.component+channel, c.field); ok {
			return w, nil
		}
	}
	return 0, noPower("meter.ParseShelly", channel)
}

// noPower is the error for a page without a power.
func noPower(op, subject string) error {
	return errs.New(errs.Unsupported, op, subject, "the device gives no power there").WithRemedy("has it a meter, and is the channel right?")
}

// openTasmota takes HOST. Tasmota takes its password in the query only.
func openTasmota(rest string, o Options) (Meter, error) {
	p, err := newPlug("tasmota", base(rest), o)
	if err != nil {
		return nil, err
	}
	p.about.Resolution = "1 W, or 0.1 W with PowerRes 1, every second"
	query := url.Values{"cmnd": {"Status 8"}}
	if o.Login.User != "" {
		query.Set("user", o.Login.User)
		query.Set("password", o.Login.password)
	}
	// A blank must be %20 for Tasmota.
	p.page, p.parse = base(rest)+"/cm?"+strings.ReplaceAll(query.Encode(), "+", "%20"), parseTasmota
	return p, nil
}

// parseTasmota finds the power in the answer of Status 8: a number, or a list of the phases.
func parseTasmota(page any) (float64, error) {
	if text(page, "WARNING") != "" {
		return 0, errs.New(errs.Unauthenticated, "meter.ParseTasmota", "", "the plug wants a password").WithRemedy("name a file with USER:PASSWORD by --meter-login")
	}
	path := []string{"StatusSNS", "ENERGY", "Power"}
	if w, ok := number(page, path...); ok {
		return w, nil
	}
	// Three phases, or several relays.
	phases, _ := dig(page, path...).([]any)
	sum := 0.0
	for _, p := range phases {
		w, ok := number(p)
		if !ok {
			return 0, noPower("meter.ParseTasmota", "")
		}
		sum += w
	}
	if len(phases) == 0 {
		return 0, noPower("meter.ParseTasmota", "")
	}
	return sum, nil
}

// openJSON takes URL#PATH: a page, and where in it the watts are.
func openJSON(rest string, o Options) (Meter, error) {
	// A fragment never goes to a server, so it is free for the place.
	at, path, ok := strings.Cut(rest, "#")
	if !ok || path == "" || !strings.Contains(at, "://") {
		return nil, errs.New(errs.Invalid, "meter.OpenJSON", "json", "it takes an address and the place of the watts").WithRemedy("write json:http://192.0.2.7/data#sensors.0.power")
	}
	p, err := newPlug("json", at, o)
	if err != nil {
		return nil, err
	}
	p.page, p.login = at, true
	p.about.Covers, p.about.Resolution = "what "+p.about.Name+" measures", "as the device has it"
	p.parse = func(page any) (float64, error) {
		if w, ok := number(page, strings.Split(path, ".")...); ok {
			return w, nil
		}
		return 0, noPower("meter.ParseJSON", path)
	}
	return p, nil
}
