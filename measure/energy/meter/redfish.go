package meter

import (
	"context"
	"net/url"
	"strconv"
	"strings"
	"time"

	"hemera/words/errs"
)

// redfish asks a management controller by DMTF's Redfish. The schema changed twice, and controllers have any of the three ways:
//
//	EnvironmentMetrics  PowerWatts.Reading (since 2020)
//	Power               PowerControl, PowerConsumedWatts (the old one, which nearly all have)
//	PowerSubsystem      the inputs of all power supplies (since 2020)
type redfish struct {
	about   About
	o       Options
	root    string // https://HOST
	chassis string // the path of one chassis; the first reading finds it if it is ""
	source  string // the page with the power; the first reading finds it
}

// chassisPath is where the chassis of a controller are listed.
const chassisPath = "/redfish/v1/Chassis"

// openRedfish takes https://HOST, or the address of one chassis.
func openRedfish(rest string, o Options) (Meter, error) {
	// http is for simulators and tunnels; a password goes over it in clear text.
	u, err := url.Parse(rest)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return nil, errs.New(errs.Invalid, "meter.OpenRedfish", "redfish", "it takes the address of a controller, without a user").
			WithRemedy("write redfish:https://HOST, or redfish:https://HOST/redfish/v1/Chassis/ID; --meter-login names a file with USER:PASSWORD")
	}
	m := &redfish{o: o, root: u.Scheme + "://" + u.Host}
	// Blades and enclosures share a controller: there the user chooses.
	if path := strings.TrimSuffix(u.Path, "/"); strings.HasPrefix(path, chassisPath+"/") {
		m.chassis = path
	}
	m.about = About{Name: "redfish:" + u.Host, Covers: "the whole machine of the controller " + u.Host, Every: time.Second,
		Resolution: "1 W; controllers renew it every 1 to 60 s"}
	return m, nil
}

// About implements Meter.
func (m *redfish) About() About { return m.about }

// Read implements Meter.
func (m *redfish) Read(ctx context.Context) (Point, error) {
	if m.source == "" {
		return m.search(ctx)
	}
	return m.read(ctx, m.source)
}

// get asks for a page by its path.
func (m *redfish) get(ctx context.Context, path string) (any, error) {
	// A link is a path of this controller: a password goes nowhere else.
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") {
		return nil, errs.New(errs.Invalid, "meter.ReadRedfish", path, "a link of the controller leads elsewhere")
	}
	return ask(ctx, m.o, m.root+path, true)
}

// read reads the power from a page that is known to have it.
func (m *redfish) read(ctx context.Context, source string) (Point, error) {
	began := m.o.Now()
	page, err := m.get(ctx, source)
	if err != nil {
		return Point{}, err
	}
	// Pages of the first two ways have the power; a page of the third has links.
	watts, ok := ParseRedfish(page)
	if !ok {
		watts, ok = m.supplies(ctx, page)
	}
	if !ok {
		return Point{}, noPower("meter.ReadRedfish", source)
	}
	return Point{At: middle(began, m.o.Now()), Value: watts}, nil
}

// search finds the first chassis that has a power, and reads it.
func (m *redfish) search(ctx context.Context) (Point, error) {
	list := []string{m.chassis}
	if m.chassis == "" {
		page, err := m.get(ctx, chassisPath)
		if err != nil {
			return Point{}, err
		}
		list = links(dig(page, "Members"))
	}
	// The first chassis with a power: further ones are often parts of it, and would count twice.
	for _, path := range list {
		page, err := m.get(ctx, path)
		if err != nil {
			return Point{}, err
		}
		for _, way := range []string{"EnvironmentMetrics", "Power", "PowerSubsystem"} {
			source := text(page, way, "@odata.id")
			if source == "" {
				continue
			}
			p, err := m.read(ctx, source)
			if err == nil {
				m.source = source
				return p, nil
			}
			// A way without a power is common; a controller that refuses will refuse all.
			if errs.KindOf(err) != errs.Unsupported && errs.KindOf(err) != errs.NotFound {
				return Point{}, err
			}
		}
	}
	return Point{}, errs.New(errs.Unsupported, "meter.ReadRedfish", m.root, "no chassis of this controller gives a power").WithRemedy("try --meter ipmi:HOST")
}

// ParseRedfish finds the watts in a page of EnvironmentMetrics or Power. Of several power controls the first is the whole
// chassis; the others are parts of it, such as processors and memory. 0 W is no value: a machine that runs takes more, and
// controllers say 0 of what they do not measure.
func ParseRedfish(page any) (float64, bool) {
	for _, path := range [][]string{
		{"PowerWatts", "Reading"},
		{"PowerControl", "0", "PowerConsumedWatts"},
		// Some have the mean of the last minute only.
		{"PowerControl", "0", "PowerMetrics", "AverageConsumedWatts"},
		{"Oem", "ts_fujitsu", "ChassisPowerConsumption", "CurrentPowerConsumptionW"},
	} {
		if w, ok := number(page, path...); ok && w > 0 {
			return w, true
		}
	}
	return oemSupplies(page)
}

// oemSupplies adds what the power supplies on a page of Power take, where a vendor (Huawei) says no more than that. Of
// PowerInputWatts in the standard's own place nothing is added: some firmware has the supply's rating there.
func oemSupplies(page any) (watts float64, ok bool) {
	supplies, _ := dig(page, "PowerSupplies").([]any)
	for _, supply := range supplies {
		w, has := number(supply, "Oem", "Huawei", "PowerInputWatts")
		if !has {
			return 0, false
		}
		watts += w
	}
	return watts, watts > 0
}

// suppliesMax bounds the power supplies of a chassis.
const suppliesMax = 64

// supplies adds the inputs of all power supplies of a PowerSubsystem. One that has no value makes the sum wrong, so there is none.
func (m *redfish) supplies(ctx context.Context, page any) (watts float64, ok bool) {
	// A page of another kind has no such link: get refuses the empty path.
	list, err := m.get(ctx, text(page, "PowerSupplies", "@odata.id"))
	if err != nil {
		return 0, false
	}
	members := links(dig(list, "Members"))
	for _, path := range members[:min(len(members), suppliesMax)] {
		supply, err := m.get(ctx, path)
		if err != nil {
			return 0, false
		}
		// An empty bay is listed, too.
		if text(supply, "Status", "State") == "Absent" {
			continue
		}
		metrics, err := m.get(ctx, text(supply, "Metrics", "@odata.id"))
		if err != nil {
			return 0, false
		}
		w, has := number(metrics, "InputPowerWatts", "Reading")
		if !has {
			return 0, false
		}
		watts, ok = watts+w, true
	}
	return watts, ok
}

// links are the paths in a list of references.
func links(list any) []string {
	var paths []string
	all, _ := list.([]any)
	for i := range all {
		if path := text(list, strconv.Itoa(i), "@odata.id"); path != "" {
			paths = append(paths, path)
		}
	}
	return paths
}
