package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/energy"
	"hemera/measure/energy/meter"
	"hemera/words/errs"
)

// everyMin is the least time between two readings.
const everyMin = 10 * time.Millisecond

// capacityCluster is the value of --capacity that asks the manager.
const capacityCluster = "cluster"

// energyFlags has the flags of the meters and the assumptions about the machines.
type energyFlags struct {
	meters   []string               // in the form of meter.Open
	every    time.Duration          // between readings; 0 is each meter's own
	idle     time.Duration          // idle time before the run
	subtract string                 // constant W of other devices on the meters
	login    string                 // the file with USER:PASSWORD
	shift    time.Duration          // added to the times of recordings
	capacity string                 // of the storage
	a        energy.Assumptions     // completed by check
	given    func(flag string) bool // whether the user gave the flag
}

// flags adds the flags.
func (g *energyFlags) flags(f *pflag.FlagSet) {
	// Where the power comes from.
	f.StringArrayVar(&g.meters, "meter", nil, "a `meter`; again for each machine, the sum counts (default: the best of this machine)")
	f.DurationVar(&g.every, "meter-every", 0, "time between two readings (default: as the meter renews its value)")
	f.StringVar(&g.login, "meter-login", "", "`file` with USER:PASSWORD for controllers, readable by its owner only")
	f.DurationVar(&g.shift, "csv-shift", 0, "`time` that is added to those of csv:FILE: 3s if the clock of the machine that records is 3 s behind")
	// The defaults subtract nothing and have no price: results that need them are left out.
	f.DurationVar(&g.idle, "idle", 30*time.Second, "how long the idle power is measured before the level")
	f.StringVar(&g.subtract, "subtract", "0W", "`power` of others on the same meters, such as a switch: 15.46W")
	f.Float64Var(&g.a.Weight, "delay-weight", 1, "the `weight` w of the delay in the energy-delay product E·t^w")
	f.StringVar(&g.capacity, "capacity", "", "`size` of the storage, for capacity per watt: 8TB, or cluster for that of all disks of the cluster")
	// Money: prices differ.
	f.Float64Var(&g.a.Cost.PerKWh, "price-kwh", 0, "`price` of a kilowatt-hour")
	f.Float64Var(&g.a.Cost.Capital, "capex", 0, "`price` of the machines")
	f.Float64Var(&g.a.Cost.Years, "years", 5, "`years` that the machines serve")
	f.StringVar(&g.a.Currency, "currency", "EUR", "the `currency` of prices")
	g.given = f.Changed
}

// check completes the assumptions. It does not read meters.
func (g *energyFlags) check(quick bool) error {
	// Three seconds detect a wrong meter, but do not average a fan.
	if quick && !g.given("idle") {
		g.idle = 3 * time.Second
	}
	if g.idle < 0 || g.every < 0 {
		return errs.New(errs.Invalid, "hemera.Bench", "--idle", "a time is not negative")
	}
	// A shift without a recording is a mistake.
	if g.shift != 0 && !slices.ContainsFunc(g.meters, func(m string) bool { return strings.HasPrefix(m, "csv:") }) {
		return errs.New(errs.Invalid, "hemera.Bench", "--csv-shift", "it shifts the times of recordings, and there is none").WithRemedy("name one with --meter csv:FILE")
	}
	// Text, because users write the unit.
	if g.every > 0 && g.every < everyMin {
		return errs.New(errs.Invalid, "hemera.Bench", "--meter-every", "reading so often loads the machine that is measured").WithRemedy("use 10ms or more")
	}
	watts, err := parseWatts(g.subtract)
	if err != nil {
		return err
	}
	g.a.Subtract = watts
	// Decimal and binary units, as everywhere.
	if g.capacity != "" && g.capacity != capacityCluster {
		n, ok := cli.ParseSize(g.capacity, 1<<62)
		if !ok || n == 0 {
			return errs.New(errs.Invalid, "hemera.Bench", "--capacity", fmt.Sprintf("%q is no size", g.capacity)).WithRemedy("write 8TB, 51.2TB, bytes, or cluster")
		}
		g.a.Capacity = n
	}
	// A price of zero is unknown.
	if c := g.a.Cost; c.PerKWh < 0 || c.Capital < 0 || c.Years <= 0 || g.a.Weight < 0 || g.a.Weight > 10 {
		return errs.New(errs.Invalid, "hemera.Bench", "--delay-weight", "prices, years and weights are positive, and a weight is at most 10")
	}
	return nil
}

// parseWatts parses 15.46W, 15.46 or 1.2kW.
func parseWatts(text string) (float64, error) {
	// W may be left out.
	number, factor := strings.TrimSpace(strings.TrimSuffix(text, "W")), 1.0
	if kilo, ok := strings.CutSuffix(number, "k"); ok {
		number, factor = kilo, 1000
	}
	w, err := strconv.ParseFloat(number, 64)
	if err != nil || !(w >= 0 && w < 1e9) {
		// A comma in place of a point is the usual mistake.
		return 0, errs.New(errs.Invalid, "hemera.Bench", "--subtract", fmt.Sprintf("%q is no power", text)).WithRemedy("write 15.46W")
	}
	return w * factor, nil
}

// options returns the options of the meters.
func (g *energyFlags) options() (meter.Options, error) {
	// The file is read here, so that a mistake is found before the idle time.
	o := meter.Options{Shift: g.shift}
	// This machine's own meters need no login.
	if g.login == "" {
		return o, nil
	}
	login, err := meter.ReadLogin(g.login)
	o.Login = login
	return o, err
}

// energyCommand makes `hemera bench energy`, with a command for each level that it can measure.
func energyCommand(e *cli.Env) *cobra.Command {
	own := newEnergyRun(e)
	c := &cobra.Command{
		Use: "energy [LEVEL | -- COMMAND…]", Short: "Measure the energy of a level, or of any command", Args: cobra.ArbitraryArgs,
		Long: `Measures what a level of hemera bench, or any command, takes: watts, joules, bytes per joule, the
energy-delay product, capacity per idle watt, cost per TB. The machine rests first, for its idle power.
Then the level works as it does without a meter, and each of its iterations gets its energy.

  rapl, rapl:psys             counters of the processors and memory (Intel, AMD), as root
  hwmon, hwmon:CHIP/SENSOR    sensors of this machine
  ipmi, ipmi:HOST             management controllers, by ipmitool
  csv:FILE                    lines time,watts that another program records
  model:idle=40,peak=58       no meter: an ESTIMATE from the use of this machine's processors

Give --meter again for each machine; the sum counts. Meters differ in what they cover: rapl has no
disks and no network, a plug has everything. The report says which it was, and what is an estimate.
A plug, or a meter of a laboratory, is read by a script that writes csv:FILE (docs/bench/energy.md).`,
		Example: `  hemera bench energy --list
  hemera bench energy io --meter csv:power.csv --capacity 8TB /mnt/cephfs/scratch
  hemera bench energy io --meter csv:power.csv --subtract 15.46W --clients 4
  hemera bench energy ns --meter ipmi:bmc1 --meter ipmi:bmc2 --meter-login bmc.txt
  hemera bench energy --meter model:idle=40,peak=58 --work 1GB -- cp big copy
  hemera bench energy interference --meter rapl root://localhost//a root://localhost//b
  hemera bench energy --replay hemera-bench-20261123-210000 --delay-weight 2
  hemera bench energy --replay hemera-bench-20261123-210000 --meter csv:power.csv --csv-shift -1.5s`,
	}
	// The flags of the command itself are not persistent: levels have their own.
	own.flags(c.Flags())
	completeMeters(c)
	// It is a noun with levels, and a verb for any command.
	c.RunE = own.run
	// The commands of the levels themselves, with their flags, completions and questions. Only their run is wrapped.
	for _, command := range []func(*session) *cobra.Command{diskCommand, netCommand, ioCommand, interferenceCommand, nsCommand} {
		c.AddCommand(withEnergy(e, command))
	}
	return c
}

// withEnergy makes the command of a level that also measures its energy.
func withEnergy(e *cli.Env, command func(*session) *cobra.Command) *cobra.Command {
	s := newSession(e)
	s.wrap = func(inner level) level { return &energyLevel{s: s, inner: []level{inner}} }
	c := command(s)
	name := "hemera bench energy " + c.Name()
	c.Long = "Runs hemera bench " + c.Name() + " and measures its energy. hemera bench energy --help has the meters.\n\n" + c.Long
	c.Example = "  " + name + " --quick --meter rapl\n  " + name + " --meter csv:power.csv --subtract 15.46W --capacity 8TB"
	c.Short = "hemera bench " + c.Name() + ", with a meter"
	completeMeters(c)
	return c
}

// completeMeters completes --meter by the word before an address.
func completeMeters(c *cobra.Command) {
	words := []string{"rapl", "rapl:psys", "hwmon", "ipmi", "ipmi:", "csv:", "model:idle="}
	_ = c.RegisterFlagCompletionFunc("meter", cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoSpace|cobra.ShellCompDirectiveNoFileComp)) // fails for flags that are not there
}
