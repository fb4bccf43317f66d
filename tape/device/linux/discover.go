package linux

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"hemera/tape/device"
	"hemera/tape/device/scsi"
	"hemera/words/errs"
)

// Found is the tape hardware of this machine.
type Found struct {
	Drives   []FoundDrive   `json:"drives"`
	Changers []FoundChanger `json:"changers"`
}

// FoundDrive is a drive and where it sits in a library.
type FoundDrive struct {
	Device  string `json:"device"`            // such as /dev/nst0
	Generic string `json:"generic,omitempty"` // its SCSI generic device
	Vendor  string `json:"vendor"`            // of INQUIRY, as are the next two
	Product string `json:"product"`
	Serial  string `json:"serial,omitempty"` // by which libraries name their drives
	// Changer is the device of the library that has the drive, and Element its address there; "" and 0 where no library told its serial number.
	Changer string `json:"changer,omitempty"`
	Element int    `json:"element,omitempty"`
	// Why says why the drive cannot be used by this process, with what to do; "" when it can.
	Why string `json:"why,omitempty"`
}

// FoundChanger is a library.
type FoundChanger struct {
	Device     string `json:"device"` // such as /dev/sg3
	Vendor     string `json:"vendor"`
	Product    string `json:"product"`
	Serial     string `json:"serial,omitempty"`
	Slots      int    `json:"slots"`         // that hold cartridges
	Gates      int    `json:"gates"`         // for import and export
	Drives     int    `json:"drives"`        // elements for drives, with or without one on this machine
	Cartridges int    `json:"cartridges"`    // in all elements
	Why        string `json:"why,omitempty"` // as of a drive
}

// Discover finds drives and changers below sysfs, which is /sys but in tests. It opens no drive, so that it disturbs no
// session. It opens changers to read their inventory, without any movement. What a process may not do is in Why of a device;
// the error is for a sysfs that cannot be read. A machine without tape hardware has an empty Found.
func Discover(sysfs string) (Found, error) {
	return discover(context.Background(), discovery{sys: kernel{}, sysfs: sysfs, access: usable})
}

// discovery has the calls to the machine that discover makes.
type discovery struct {
	sys    syscalls                // for changers
	sysfs  string                  // its root
	access func(path string) error // nil when this process can use the device
}

// discover does it over any machine.
func discover(ctx context.Context, d discovery) (Found, error) {
	var found Found
	if _, err := os.Stat(d.sysfs); err != nil {
		return found, errs.Wrap(err, "linux.Discover", d.sysfs)
	}
	// Each drive has eight names; the ones with n do not rewind when they are closed.
	drives, err := d.list("scsi_tape", regexp.MustCompile(`^nst\d+$`))
	if err != nil {
		return found, err
	}
	for _, name := range drives {
		found.Drives = append(found.Drives, d.drive(name))
	}
	// Changers need no driver of their own: the generic one has all devices, with their types.
	generics, err := d.list("scsi_generic", regexp.MustCompile(`^sg\d+$`))
	if err != nil {
		return found, err
	}
	for _, name := range generics {
		if d.attribute("scsi_generic", name, "type") != strconv.Itoa(scsi.TypeChanger) {
			continue
		}
		c, elements := d.changer(ctx, name)
		found.Changers = append(found.Changers, c)
		pair(found.Drives, c.Device, elements)
	}
	return found, nil
}

// pair gives drives their places in a library, by serial number. Some libraries pad the number with zeros on the left.
func pair(drives []FoundDrive, changer string, elements []device.Element) {
	bare := func(serial string) string { return strings.TrimLeft(serial, "0") }
	for i := range drives {
		// A drive without a serial number is equal to none.
		for _, e := range elements {
			if e.Kind == device.ElementDrive && drives[i].Serial != "" && bare(e.Serial) == bare(drives[i].Serial) {
				drives[i].Changer, drives[i].Element = changer, e.Address
			}
		}
	}
}

// drive reads what sysfs knows of a drive.
func (d discovery) drive(name string) FoundDrive {
	f := FoundDrive{Device: "/dev/" + name, Vendor: d.attribute("scsi_tape", name, "vendor"), Product: d.attribute("scsi_tape", name, "model"),
		Serial: d.serial("scsi_tape", name)}
	// The other name of the same drive, which lsscsi -g and sg_logs use.
	generic, err := os.ReadDir(filepath.Join(d.sysfs, "class", "scsi_tape", name, "device", "scsi_generic"))
	if err == nil && len(generic) > 0 {
		f.Generic = "/dev/" + generic[0].Name()
	}
	f.Why = why(d.access(f.Device))
	return f
}

// changer reads what sysfs knows, and asks the changer for its elements.
func (d discovery) changer(ctx context.Context, name string) (FoundChanger, []device.Element) {
	f := FoundChanger{Device: "/dev/" + name, Vendor: d.attribute("scsi_generic", name, "vendor"), Product: d.attribute("scsi_generic", name, "model"),
		Serial: d.serial("scsi_generic", name)}
	// Without permission there is no inventory, and drives stay without a place.
	if f.Why = why(d.access(f.Device)); f.Why != "" {
		return f, nil
	}
	c, err := openChanger(ctx, d.sys, f.Device)
	if err != nil {
		f.Why = why(err)
		return f, nil
	}
	defer c.Close()
	f.Slots, f.Gates, f.Drives = c.addresses.Slots.Count, c.addresses.Gates.Count, c.addresses.Drives.Count
	// The kernel keeps serial numbers of some device types only.
	if f.Serial == "" {
		f.Serial = c.identity.Serial
	}
	elements, err := c.Inventory(ctx)
	f.Why = why(err)
	for _, e := range elements {
		if e.Full {
			f.Cartridges++
		}
	}
	return f, elements
}

// list returns the names of a class that match, in the order of their numbers. A class that does not exist is empty: its
// module is not loaded.
func (d discovery) list(class string, name *regexp.Regexp) (names []string, err error) {
	entries, err := os.ReadDir(filepath.Join(d.sysfs, "class", class))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, errs.Wrap(err, "linux.Discover", class)
	}
	for _, e := range entries {
		if name.MatchString(e.Name()) {
			names = append(names, e.Name())
		}
	}
	// sg10 comes after sg9.
	slices.SortFunc(names, func(a, b string) int {
		if len(a) != len(b) {
			return len(a) - len(b)
		}
		return strings.Compare(a, b)
	})
	return names, nil
}

// attribute reads a file of the device in sysfs, "" where it is not there.
func (d discovery) attribute(class, name, attribute string) string {
	b, err := os.ReadFile(filepath.Join(d.sysfs, "class", class, name, "device", attribute))
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// serial returns the serial number of VPD page 80h, which the kernel keeps in sysfs; "" where it does not.
func (d discovery) serial(class, name string) string {
	b, err := os.ReadFile(filepath.Join(d.sysfs, "class", class, name, "device", "vpd_pg80"))
	if err != nil {
		return ""
	}
	serial, err := scsi.DecodeSerial(b)
	if err != nil {
		return ""
	}
	return serial
}

// usable checks, without opening, that this process may open the device and send it commands.
func usable(path string) error {
	if err := unix.Access(path, unix.R_OK|unix.W_OK); err != nil {
		return openError(err, path)
	}
	// The file is not enough: SG_IO on a tape device asks for the capability too.
	status, err := os.ReadFile("/proc/self/status")
	if err != nil || rawAllowed(string(status)) {
		return nil // the command itself will say it
	}
	return rawError(unix.EPERM, path, "SG_IO")
}

// rawAllowed reports whether the process that a /proc/PID/status is of has CAP_SYS_RAWIO.
func rawAllowed(status string) bool {
	for line := range strings.Lines(status) {
		if mask, ok := strings.CutPrefix(line, "CapEff:"); ok {
			set, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && set>>unix.CAP_SYS_RAWIO&1 != 0
		}
	}
	return false
}

// why returns an error and its remedy in one line.
func why(err error) string {
	if err == nil {
		return ""
	}
	if remedy := errs.RemedyOf(err); remedy != "" {
		return err.Error() + ". " + remedy
	}
	return err.Error()
}
