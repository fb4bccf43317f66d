package bench

import (
	"github.com/spf13/cobra"

	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/energy/meter"
)

// Command makes `hemera bench`, the noun of all levels. Without a level it prints help.
func Command(e *cli.Env) *cobra.Command {
	c := cli.Noun("bench", "Measure disks, network, namespace and cluster, and make a report",
		diskCommand(newSession(e)), netCommand(newSession(e)), ioCommand(newSession(e)), interferenceCommand(newSession(e)), tapeCommand(newSession(e)), nsCommand(newSession(e)), energyCommand(e), allCommand(e),
		compareCommand(e), reportCommand(e)) // levels above, what is made of results here
	c.Long = `Measures what the hardware and the cluster reach, level by level, by the same method every time:

  hemera bench all --quick     every level in about two minutes

Each run leaves a directory: result.json with every sample and its conditions (docs/formats/result.md),
the raw output of the programs that made the load, and a report. A part that cannot be measured here is
named with what is missing. An interrupted run removes what it made and keeps what it has measured.`
	return c
}

// allCommand makes `hemera bench all`: every level with its defaults. It has no flags of levels: a level with other
// conditions is a separate run.
func allCommand(e *cli.Env) *cobra.Command {
	s := newSession(e)
	c := &cobra.Command{
		Use: "all", Short: "Measure every level, one after another", Args: cobra.NoArgs,
		Long: `Measures every level with its defaults, from the bottom up: later levels are compared with what the
earlier ones reached. The cluster is that of --url. Nobody else should use it meanwhile.

If this machine has a meter of power, or one is named with --meter, the energy of all levels comes last.`,
		Example: `  hemera bench all --quick
  hemera bench all --out /tmp/site-2026 --title "Storage room, before the new switch"`,
	}
	s.flags(c.Flags())
	power := &energyLevel{s: s}
	power.flags(c.Flags())
	c.RunE = func(c *cobra.Command, args []string) error {
		levels := allLevels(e)
		if len(power.meters) > 0 || best(c.Context(), meter.Options{}) != "" {
			power.inner = levels
			levels = []level{power}
		}
		// All are checked before the first one works for minutes.
		for _, l := range levels {
			if err := l.check(nil, s.quick); err != nil {
				return cli.Usage(err)
			}
		}
		return s.measure(c.Context(), commandLine(c, args), levels)
	}
	return c
}

// allLevels returns the levels from the bottom up: the result of a later one is compared with those of earlier ones.
func allLevels(e *cli.Env) []level {
	return []level{&diskLevel{e: e}, &netLevel{e: e}, &ioLevel{e: e}, &nsLevel{e: e}}
}
