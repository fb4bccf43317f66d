package meter

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs/sysfs"

	"hemera/words/errs"
)

// Domain is a zone of RAPL in the kernel's power capping framework.
type Domain struct {
	Path string // intel-rapl:0:1, the second zone within the first
	Name string // package, package-0-die-1, core, uncore, dram or psys
}

// die returns the number in the name of a domain of a processor with several dies. ok is false for all other names.
func (d Domain) die() (number int, ok bool) {
	_, last, ok := strings.Cut(d.Name, "-die-")
	number, err := strconv.Atoi(last)
	return number, ok && err == nil
}

// isPackage reports whether the domain is a socket, or a die with a counter of its own. AMD's dies all show the counter
// of their socket.
func (d Domain) isPackage(amd bool) bool {
	number, ok := d.die()
	return d.Name == "package" || ok && (number == 0 || !amd)
}

// Domains returns the domains that together count each joule once.
//
// Packages include core and uncore. DRAM is not part of its package, although its directory is inside. psys is the whole
// platform with the packages. A package may occur twice, by its registers and by memory-mapped I/O (intel-rapl-mmio): the
// first counts.
func Domains(all []Domain, psys, amd bool) []Domain {
	var chosen []Domain
	for _, d := range all {
		switch mmio := strings.HasPrefix(d.Path, "intel-rapl-mmio"); {
		case psys:
			// Nothing else counts.
			if d.Name == "psys" {
				chosen = append(chosen, d)
			}
		case !d.isPackage(amd) && d.Name != "dram":
		case mmio && slices.ContainsFunc(all, func(o Domain) bool { return o.Name == d.Name && !strings.HasPrefix(o.Path, "intel-rapl-mmio") }):
		default:
			chosen = append(chosen, d)
		}
	}
	return chosen
}

// zone is a domain and its counter.
type zone struct {
	sysfs.RaplZone
	counter
}

// rapl is the sum of the counters of a machine's processors.
type rapl struct {
	about About
	zones []*zone
	now   func() time.Time
}

// openRAPL opens the counters below /sys/class/powercap. rest is psys, or empty.
func openRAPL(rest string, o Options) (Meter, error) {
	const op = "meter.OpenRAPL"
	if rest != "" && rest != "psys" {
		return nil, errs.New(errs.Invalid, op, rest, "it is no domain that can be chosen").WithRemedy("write rapl, or rapl:psys")
	}
	// procfs reads the tree, also on machines without such zones.
	var found []sysfs.RaplZone
	fs, err := sysfs.NewFS(filepath.Join(o.Root, "sys"))
	if err == nil {
		found, err = sysfs.GetRaplZones(fs)
	}
	if err != nil || len(found) == 0 {
		return nil, errs.New(errs.NotFound, op, "/sys/class/powercap", "the kernel shows no counters of energy").
			WithRemedy("virtual machines have none; on hardware, modprobe intel_rapl_msr (Intel and AMD)")
	}
	// A pure function chooses by the names alone.
	all := make([]Domain, len(found))
	for i, z := range found {
		all[i] = Domain{Path: filepath.Base(z.Path), Name: z.Name}
	}
	r := &rapl{now: o.Now}
	var names []string
	for _, d := range Domains(all, rest == "psys", amd(o.Root)) {
		i := slices.Index(all, d)
		r.zones = append(r.zones, &zone{RaplZone: found[i]})
		name := d.Name
		// The names of dies have their numbers.
		if _, ok := d.die(); !ok {
			name += "-" + strconv.Itoa(found[i].Index)
		}
		names = append(names, name)
	}
	// Only some notebooks and servers have psys.
	if len(r.zones) == 0 {
		return nil, errs.New(errs.NotFound, op, rest, "there is no such domain").WithRemedy("use --meter rapl: packages and memory")
	}
	r.about = About{Name: "rapl", Counter: true, Every: time.Millisecond, Resolution: "1 µJ, about every 1 ms",
		Covers: strings.Join(names, ", ") + " of this machine; without disks, network, fans and losses of the power supply"}
	// psys replaces the sum: it contains the packages.
	if rest == "psys" {
		r.about.Name, r.about.Covers = "rapl:psys", "the platform of this machine, as its firmware wires it"
	}
	return r, nil
}

// amd reports whether the processors are AMD's, or Hygon's, which have AMD's design.
func amd(root string) bool {
	info, _ := os.ReadFile(filepath.Join(root, "proc/cpuinfo")) // #nosec G304 -- a file of the kernel
	return bytes.Contains(info, []byte("AuthenticAMD")) || bytes.Contains(info, []byte("HygonGenuine"))
}

// About implements Meter.
func (r *rapl) About() About { return r.about }

// Read implements Meter.
func (r *rapl) Read(context.Context) (Point, error) {
	joules := 0.0
	for _, z := range r.zones {
		// Zones are read one after another within microseconds: less than the millisecond at which they are renewed.
		now, err := z.GetEnergyMicrojoules()
		if errs.KindOf(err) == errs.Denied {
			return Point{}, errs.New(errs.Denied, "meter.ReadRAPL", z.Path, "only root may read the counters of energy").
				WithRemedy("run it as root, or chmod o+r " + filepath.Join(z.Path, "energy_uj"))
		}
		if err != nil {
			return Point{}, errs.Wrap(err, "meter.ReadRAPL", z.Path)
		}
		// The range is the largest value, which 0 follows.
		joules += z.add(now, z.MaxMicrojoules+1) / 1e6
	}
	return Point{At: r.now(), Value: joules}, nil
}
