package host

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"hemera/words/errs"
)

// TickRate is the number of ticks in a second of /proc: USER_HZ, which is 100 on every supported architecture.
const TickRate = 100

// Ticks has the times of a core, or of all cores, by role since the machine started, in units of 1/[TickRate] s.
type Ticks struct {
	Usr, Sys, IRQ, Soft, Steal, Idle uint64
}

// Core is one core and its times.
type Core struct {
	ID int // as the kernel numbers it; cores that are off are missing
	Ticks
}

// CPU is one reading of /proc/stat.
type CPU struct {
	All   Ticks
	Cores []Core // by ID
}

// Share has the fractions of the time that a core, or all cores, spent in each role. The sum is 1, or 0 if no time
// passed.
type Share struct {
	Usr, Sys, IRQ, Soft, Steal, Idle float64
}

// CoreShare is a core and its shares.
type CoreShare struct {
	ID int
	Share
}

// Load is the use of the CPU between two readings.
type Load struct {
	All   Share
	Cores []CoreShare // those in both readings
	// Busy is the time that all cores together were not idle, in seconds.
	Busy float64
}

// RoleShare is one role with its name, for loops over roles.
type RoleShare struct {
	Role  string
	Share float64
}

// ReadCPU reads /proc/stat below root.
func ReadCPU(root string) (CPU, error) {
	text, err := read(root, "proc/stat")
	if err != nil {
		return CPU{}, err
	}
	return ParseCPU(text)
}

// ParseCPU parses the text of /proc/stat. It fails with Invalid without a line for all cores, or with a malformed number.
func ParseCPU(text string) (CPU, error) {
	var c CPU
	found := false
	for l := range strings.Lines(text) {
		name, ok := strings.CutPrefix(l, "cpu")
		if !ok {
			continue
		}
		fields := strings.Fields(name)
		// The line of all cores has spaces in place of a number.
		all := strings.HasPrefix(name, " ")
		if !all && len(fields) > 0 {
			id, err := strconv.Atoi(fields[0])
			if err != nil || id < 0 {
				return CPU{}, malformed("host.ParseCPU", l)
			}
			c.Cores, fields = append(c.Cores, Core{ID: id}), fields[1:]
		}
		t, err := parseTicks(fields)
		if err != nil {
			return CPU{}, malformed("host.ParseCPU", l)
		}
		if all {
			c.All, found = t, true
		} else {
			c.Cores[len(c.Cores)-1].Ticks = t
		}
	}
	if !found {
		return CPU{}, malformed("host.ParseCPU", "/proc/stat")
	}
	slices.SortStableFunc(c.Cores, func(a, b Core) int { return cmp.Compare(a.ID, b.ID) })
	return c, nil
}

// parseTicks parses the numbers of a line: user nice system idle iowait irq softirq steal guest guest_nice. The time of
// guests is part of user and nice. Old kernels write fewer.
func parseTicks(fields []string) (Ticks, error) {
	var v [8]uint64
	if len(fields) < 4 {
		return Ticks{}, errs.Invalid
	}
	for i := range min(len(fields), len(v)) {
		n, err := strconv.ParseUint(fields[i], 10, 63)
		if err != nil {
			return Ticks{}, err
		}
		v[i] = n
	}
	return Ticks{Usr: v[0] + v[1], Sys: v[2], Idle: v[3] + v[4], IRQ: v[5], Soft: v[6], Steal: v[7]}, nil
}

// Since returns the use of the CPU since an earlier reading.
func (c CPU) Since(before CPU) Load {
	l := Load{All: c.All.Since(before.All)}
	d := c.All.minus(before.All)
	l.Busy = float64(d.Usr+d.Sys+d.IRQ+d.Soft+d.Steal) / TickRate
	for _, core := range c.Cores {
		i := slices.IndexFunc(before.Cores, func(b Core) bool { return b.ID == core.ID })
		if i >= 0 {
			l.Cores = append(l.Cores, CoreShare{core.ID, core.Ticks.Since(before.Cores[i].Ticks)})
		}
	}
	return l
}

// Since returns the fractions of the time since an earlier reading.
func (t Ticks) Since(before Ticks) Share {
	d := t.minus(before)
	sum := float64(d.Usr) + float64(d.Sys) + float64(d.IRQ) + float64(d.Soft) + float64(d.Steal) + float64(d.Idle)
	if sum == 0 {
		return Share{}
	}
	return Share{float64(d.Usr) / sum, float64(d.Sys) / sum, float64(d.IRQ) / sum, float64(d.Soft) / sum, float64(d.Steal) / sum, float64(d.Idle) / sum}
}

// minus returns the difference of two readings. A counter that went back, as iowait may, counts as unchanged.
func (t Ticks) minus(b Ticks) Ticks {
	return Ticks{grown(t.Usr, b.Usr), grown(t.Sys, b.Sys), grown(t.IRQ, b.IRQ), grown(t.Soft, b.Soft), grown(t.Steal, b.Steal), grown(t.Idle, b.Idle)}
}

// grown returns the growth of a counter. Interrupt counters begin again when a core was switched off and on.
func grown(after, before uint64) uint64 {
	if after < before {
		return 0
	}
	return after - before
}

// Roles returns the fractions with the names of the roles, in the order of a stack from the bottom.
func (s Share) Roles() []RoleShare {
	return []RoleShare{{"usr", s.Usr}, {"sys", s.Sys}, {"irq", s.IRQ}, {"soft", s.Soft}, {"steal", s.Steal}, {"idle", s.Idle}}
}

// malformed returns the error for a text of the kernel that a parser does not understand.
func malformed(op, text string) error {
	if len(text) > 80 {
		text = text[:80]
	}
	return errs.New(errs.Invalid, op, strings.TrimSpace(text), "it is not what Linux writes")
}
