package meter

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera/words/errs"
)

// Sensor is one quantity of a hwmon chip from which a power follows.
type Sensor struct {
	Chip  string // the driver's name of the chip: power_meter, pmbus, ina226
	Name  string // power1, energy2, or the pair in1*curr1
	Label string // of the driver, if it has one: pin, SoC, vddio
	files []string
	unit  float64 // factor from a file's number, or the product of two, to W or J
	// Counter states that the value is in J. Estimate states that it is a product of two values that were not read at the
	// same time.
	Counter, Estimate bool
	// Every is the interval at which the chip renews its value, if it reports that.
	Every time.Duration
}

// Spec returns a user's name of the sensor.
func (s Sensor) Spec() string { return "hwmon:" + s.Chip + "/" + s.Name }

// Sensors returns the sensors below root's /sys/class/hwmon. If a chip has a power, its voltages and currents are left
// out. If a power has a mean and a present value, the mean is used, because it covers the whole time between two
// readings.
func Sensors(root string) []Sensor {
	// The numbers of chips depend on the order of drivers; users know the names.
	dirs, _ := filepath.Glob(filepath.Join(root, "sys/class/hwmon/hwmon*")) // fails for wrong patterns only
	slices.SortFunc(dirs, func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	var all []Sensor
	used := map[string]int{}
	for _, dir := range dirs {
		chip := cmp.Or(word(dir, "name"), filepath.Base(dir))
		// Two chips of a kind are numbered.
		if used[chip]++; used[chip] > 1 {
			chip += "-" + strconv.Itoa(used[chip])
		}
		all = append(all, chipSensors(dir, chip)...)
	}
	return all
}

// chipSensors returns the sensors of one chip.
func chipSensors(dir, chip string) []Sensor {
	var all []Sensor
	for n := 1; n <= channelsMax; n++ {
		power, energy := "power"+strconv.Itoa(n), "energy"+strconv.Itoa(n)
		s := Sensor{Chip: chip, Name: power, Label: word(dir, power+"_label"), unit: 1e-6}
		switch {
		// The interval bounds the age of a mean.
		case exists(dir, power+"_average"):
			ms, _ := strconv.ParseInt(word(dir, power+"_average_interval"), 10, 32)
			s.files, s.Every = []string{filepath.Join(dir, power+"_average")}, time.Duration(ms)*time.Millisecond
			all = append(all, s)
		case exists(dir, power+"_input"):
			s.files = []string{filepath.Join(dir, power+"_input")}
			all = append(all, s)
		}
		// A counter beside a power measures the same quantity, and users choose one.
		if exists(dir, energy+"_input") {
			all = append(all, Sensor{Chip: chip, Name: energy, Label: word(dir, energy+"_label"), unit: 1e-6, Counter: true,
				files: []string{filepath.Join(dir, energy+"_input")}})
		}
	}
	// Voltages and currents of such a chip are parts of its powers.
	if len(all) > 0 {
		return all
	}
	// Millivolts times milliamperes. The inputs of a chip with one number belong together.
	for n := 1; n <= channelsMax; n++ {
		in, curr := fmt.Sprintf("in%d", n), fmt.Sprintf("curr%d", n)
		if exists(dir, in+"_input") && exists(dir, curr+"_input") {
			all = append(all, Sensor{Chip: chip, Name: in + "*" + curr, Label: word(dir, curr+"_label"), unit: 1e-6, Estimate: true,
				files: []string{filepath.Join(dir, in+"_input"), filepath.Join(dir, curr+"_input")}})
		}
	}
	return all
}

// channelsMax is more than the number of channels of any chip in the kernel.
const channelsMax = 32

// word returns the first line of a file, or "".
func word(dir, name string) string {
	text, err := os.ReadFile(filepath.Join(dir, name)) // #nosec G304 -- files of the kernel
	if err != nil {
		return ""
	}
	first, _, _ := strings.Cut(string(text), "\n")
	return strings.TrimSpace(first)
}

// exists reports whether the chip has the file.
func exists(dir, name string) bool {
	_, err := os.Stat(filepath.Join(dir, name))
	return err == nil
}

// Whole returns the sensors whose sum is the power of the whole machine, or nil if that is unknown: ACPI's power meter,
// else the inputs of all power supplies on PMBus, else the only sensor.
func Whole(all []Sensor) []Sensor {
	for _, is := range []func(Sensor) bool{
		func(s Sensor) bool { return s.Chip == "power_meter" || s.Chip == "acpi_power_meter" },
		func(s Sensor) bool { return s.Label == "pin" },
	} {
		var chosen []Sensor
		for _, s := range all {
			if is(s) {
				chosen = append(chosen, s)
			}
		}
		if len(chosen) > 0 {
			return chosen
		}
	}
	// A board with one sensor nearly always has it at its input.
	if len(all) == 1 {
		return all
	}
	return nil
}

// hwmon is the sum of some sensors of a machine.
type hwmon struct {
	about   About
	sensors []*sensorCounter
	now     func() time.Time
}

// sensorCounter is a sensor and, for energies, its counter.
type sensorCounter struct {
	Sensor
	counter
}

// openHwmon opens the sensor CHIP/SENSOR, or with "" the sensors of the whole machine's power.
func openHwmon(rest string, o Options) (Meter, error) {
	const op = "meter.OpenHwmon"
	all := Sensors(o.Root)
	if len(all) == 0 {
		return nil, errs.New(errs.NotFound, op, "/sys/class/hwmon", "no sensor of this machine gives a power").
			WithRemedy("virtual machines have none; on hardware try ipmi, or what a script records of a smart plug: csv:FILE")
	}
	// A choice of the user counts more than one by rules.
	chosen := Whole(all)
	if rest != "" {
		i := slices.IndexFunc(all, func(s Sensor) bool { return s.Spec() == "hwmon:"+rest })
		if i < 0 {
			return nil, errs.New(errs.NotFound, op, rest, "there is no such sensor").WithRemedy("choose one of " + specs(all))
		}
		chosen = all[i : i+1]
	}
	if len(chosen) == 0 {
		return nil, errs.New(errs.Invalid, op, "", "none of the sensors is known to cover the whole machine").WithRemedy("choose one of " + specs(all))
	}
	h := &hwmon{now: o.Now, about: About{Name: "hwmon", Resolution: "1 µW; chips renew it some times a second", Every: 100 * time.Millisecond, Counter: chosen[0].Counter}}
	if rest != "" {
		h.about.Name += ":" + rest
	}
	var covers []string
	// A mean over a second is not read ten times a second.
	for _, s := range chosen {
		h.sensors = append(h.sensors, &sensorCounter{Sensor: s})
		h.about.Estimate = h.about.Estimate || s.Estimate
		h.about.Every = max(h.about.Every, s.Every)
		covers = append(covers, strings.TrimSpace(s.Chip+"/"+s.Name+" "+s.Label))
	}
	h.about.Covers = strings.Join(covers, ", ") + " of this machine"
	if h.about.Estimate {
		h.about.Covers = "an estimate, voltage times current: " + h.about.Covers
	}
	return h, nil
}

// specs returns names of sensors for a remedy.
func specs(all []Sensor) string {
	const most = 12
	// A server may have a hundred.
	var names []string
	for _, s := range all[:min(len(all), most)] {
		names = append(names, s.Spec())
	}
	return strings.Join(names, ", ")
}

// About implements Meter.
func (h *hwmon) About() About { return h.about }

// Read implements Meter.
func (h *hwmon) Read(context.Context) (Point, error) {
	sum := 0.0
	for _, s := range h.sensors {
		v, err := s.read()
		if err != nil {
			return Point{}, err
		}
		sum += v
	}
	return Point{At: h.now(), Value: sum}, nil
}

// read reads a sensor: W, or J since the first reading.
func (s *sensorCounter) read() (float64, error) {
	if s.Counter {
		text, err := os.ReadFile(s.files[0])
		if err != nil {
			return 0, errs.Wrap(err, "meter.ReadHwmon", s.files[0])
		}
		now, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64)
		if err != nil {
			return 0, errs.As(err, errs.Invalid, "meter.ReadHwmon", s.files[0])
		}
		return s.add(now, 0) * s.unit, nil
	}
	// One file of a power, or two of a voltage and a current.
	product := s.unit
	for _, file := range s.files {
		text, err := os.ReadFile(file) // #nosec G304 -- files of the kernel
		if err != nil {
			return 0, errs.Wrap(err, "meter.ReadHwmon", file)
		}
		v, err := strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
		if err != nil {
			return 0, errs.As(err, errs.Invalid, "meter.ReadHwmon", file)
		}
		// ACPI's value for a power that the firmware does not know: all 32 bits are set, in mW.
		if s.Chip == "power_meter" && v >= math.MaxUint32*1e3 {
			return 0, errs.New(errs.Unavailable, "meter.ReadHwmon", file, "the firmware does not know the power now").
				WithRemedy("modprobe -r acpi_power_meter && modprobe acpi_power_meter; or try --meter ipmi")
		}
		product *= v
	}
	return product, nil
}
