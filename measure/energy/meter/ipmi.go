package meter

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"hemera/words/errs"
)

// ipmi asks a management controller with ipmitool: DCMI's "Get Power Reading".
type ipmi struct {
	login Login // of a controller on the network
	host  string
	run   Runner
	now   func() time.Time
}

// openIPMI opens the controller with the name, or with "" the controller of this machine.
func openIPMI(rest string, o Options) (Meter, error) {
	// The controller of this machine needs root, but no password.
	if rest != "" && o.Login.User == "" {
		return nil, errs.New(errs.Unauthenticated, "meter.OpenIPMI", rest, "a controller on the network wants a user").WithRemedy("name a file with USER:PASSWORD by --meter-login")
	}
	// ipmitool would take it as an option.
	if strings.HasPrefix(rest, "-") {
		return nil, errs.New(errs.Invalid, "meter.OpenIPMI", rest, "it is no host")
	}
	return &ipmi{login: o.Login, host: rest, run: o.Run, now: o.Now}, nil
}

// About implements Meter.
func (m *ipmi) About() About {
	a := About{Name: "ipmi", Covers: "the whole of this machine, as its controller measures it", Resolution: "1 W; controllers renew it every 1 to 15 s", Every: time.Second}
	if m.host != "" {
		a.Name, a.Covers = "ipmi:"+m.host, "the whole machine of the controller "+m.host
	}
	return a
}

// Read implements Meter.
func (m *ipmi) Read(ctx context.Context) (Point, error) {
	args := []string{"dcmi", "power", "reading"}
	var environment []string
	// -E reads the password from the environment, because every user of the machine can see arguments.
	if m.host != "" {
		args = append([]string{"-I", "lanplus", "-H", m.host, "-U", m.login.User, "-E"}, args...)
		environment = []string{"IPMI_PASSWORD=" + m.login.password}
	}
	// A reading over the network takes some 100 ms.
	began := m.now()
	text, err := m.run(ctx, environment, "ipmitool", args...)
	var failed *errs.Error
	if m.host == "" && errors.As(err, &failed) && failed.Remedy == "" {
		return Point{}, failed.WithRemedy("run it as root, and modprobe ipmi_si ipmi_devintf; or name the controller: ipmi:HOST")
	}
	if err != nil {
		return Point{}, err
	}
	watts, err := ParseDCMI(text)
	return Point{At: middle(began, m.now()), Value: watts}, err
}

// middle returns the time of a value of a slow device: it was measured at some time between the request and the answer.
func middle(asked, answered time.Time) time.Time { return asked.Add(answered.Sub(asked) / 2) }

// ParseDCMI returns the watts in the output of `ipmitool dcmi power reading`. It fails with Unavailable if the controller
// does not measure at present: a running machine never takes 0 W, but a controller that does not measure reports 0,
// perhaps as "activated".
//
// A power counts even if its state is "deactivated": OpenBMC reports that state of every power.
func ParseDCMI(text string) (float64, error) {
	const op, key = "meter.ParseDCMI", "Instantaneous power reading:"
	_, rest, found := strings.Cut(text, key)
	// Many controllers without a licence answer with an error.
	if !found {
		return 0, errs.New(errs.Unsupported, op, "", "the controller gives no power").WithRemedy("record its power with another program, and give --meter csv:FILE")
	}
	// The number and its unit: 214 Watts.
	value, _, _ := strings.Cut(rest, "\n")
	number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
	watts, err := strconv.ParseFloat(number, 64)
	if err != nil || watts < 0 || !strings.HasPrefix(unit, "Watt") {
		return 0, errs.New(errs.Invalid, op, strings.TrimSpace(value), "it is no power")
	}
	if watts == 0 {
		return 0, errs.New(errs.Unavailable, op, "", "the controller does not measure power now").
			WithRemedy("switch it on: ipmitool dcmi power activate; or record its power with another program, and give --meter csv:FILE")
	}
	return watts, nil
}
