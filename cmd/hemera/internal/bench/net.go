package bench

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"hemera/cmd/hemera/internal/cli"
	"hemera/measure/net"
	"hemera/measure/result"
	"hemera/words/errs"
)

// netLevel measures the network between this machine and others.
type netLevel struct {
	e     *cli.Env
	o     net.Options            // completed by check
	serve string                 // the address of a far end, which measures nothing itself
	given func(flag string) bool // whether the user gave the flag; nil before flags
}

// netCommand makes `hemera bench net`. Its defaults are source D's: ten times a minute.
func netCommand(s *session) *cobra.Command {
	l := &netLevel{e: s.e}
	c := s.command(l, &cobra.Command{
		Use: "net [HOST]...", Short: "Measure the network: TCP and UDP, each way, and what it costs the processors",
		Long: `Measures the path to each HOST with iperf3: TCP, and UDP with packets of 1500 and 60 bytes; one stream and
many; sending, receiving, and both at once. Beside the rates it has what the cores of the machines do
meanwhile (usr, sys, irq, soft, idle) and the processor time for a gigabyte. Without a HOST it measures
the loopback interface, and says so.

HOST runs the far end:

  hemera bench net --serve ADDRESS     iperf3 -s at the address and --port, and at the next port what
                                       its processors do
  iperf3 -s                            the same without its processors

There is no password: serve only at an address of a network whose users you trust, and measure only
hosts that you trust. The defaults take 3 hours for each HOST (10 x 60 s of each step) and 8 minutes for
the loopback interface (5 x 5 s); --quick takes half a minute.`,
		Example: `  hemera bench net --quick
  hemera bench net --serve 10.0.0.2          on the far machine; Ctrl-C ends it
  hemera bench net 10.0.0.2 --quick
  hemera bench net 10.0.0.2 --cores 2,2 --protocols tcp --streams 1     one core for the application
  hemera bench net fst1 fst2 --protocols tcp --streams 1,16 --for 10s --iterations 5`,
		ValidArgsFunction: cobra.NoFileCompletions,
	})
	// Completions fail only for flags that do not exist.
	_ = c.RegisterFlagCompletionFunc("protocols", cobra.FixedCompletions(net.Protocols(), cobra.ShellCompDirectiveNoFileComp))
	_ = c.RegisterFlagCompletionFunc("directions", cobra.FixedCompletions(net.Directions(), cobra.ShellCompDirectiveNoFileComp))
	measure := c.RunE
	c.RunE = func(c *cobra.Command, args []string) error {
		// A far end has no directory and no result.
		if l.serve != "" {
			return l.far(c.Context(), args)
		}
		return measure(c, args)
	}
	return c
}

// name implements level.
func (l *netLevel) name() string { return "net" }

// flags implements level.
func (l *netLevel) flags(f *pflag.FlagSet) {
	// The measurements.
	f.StringSliceVar(&l.o.Protocols, "protocols", net.Protocols(), "of tcp and udp")
	f.StringSliceVar(&l.o.Directions, "directions", net.Directions(), "of send, receive and both, seen from here")
	f.IntSliceVar(&l.o.Streams, "streams", []int{1, 8}, "streams at once, in each direction")
	f.IntSliceVar(&l.o.Packets, "packets", []int{1500, 60}, "sizes of UDP packets in bytes, with the headers of IP and UDP")
	f.IntSliceVar(&l.o.Cores, "cores", nil, "the core that iperf3 runs on here, and the one at the far end: 2 or 2,2")
	// How much of it.
	f.DurationVar(&l.o.For, "for", time.Minute, "how long one step lasts, in whole seconds")
	f.IntVar(&l.o.Iterations, "iterations", 10, "how often everything is measured")
	// Between whom.
	f.IntVar(&l.o.Port, "port", 5201, "of iperf3 at the far end; the next one is for what its processors do")
	f.StringVar(&l.serve, "serve", "", "be the far end, at this `address` of this machine, until Ctrl-C")
	l.given = f.Changed
}

// check implements level. It does not access hosts.
func (l *netLevel) check(args []string, quick bool) error {
	if l.given == nil { // in a run of all levels: without its own command line
		l.flags(pflag.NewFlagSet("", pflag.ContinueOnError))
	}
	// None means the loopback interface.
	l.o.Hosts = args
	switch {
	case quick:
		l.shorten()
	case len(args) == 0:
		// The loopback does not vary over minutes: more time would show the same.
		l.unless("for", func() { l.o.For = 5 * time.Second })
		l.unless("iterations", func() { l.o.Iterations = 5 })
	}
	return l.o.Check()
}

// unless sets an option that the user did not choose.
func (l *netLevel) unless(flag string, set func()) {
	if !l.given(flag) {
		set()
	}
}

// shorten sets the options that the user did not choose so that the run takes half a minute.
func (l *netLevel) shorten() {
	// A second is the shortest time of iperf3.
	l.unless("for", func() { l.o.For = time.Second })
	l.unless("iterations", func() { l.o.Iterations = 2 })
	l.unless("streams", func() { l.o.Streams = []int{1, 4} })
	l.unless("directions", func() { l.o.Directions = []string{net.Send, net.Receive} })
}

// run implements level.
func (l *netLevel) run(ctx context.Context, rec *result.Recorder) error {
	return net.Run(ctx, l.o, rec)
}

// far serves other machines until ctx ends.
func (l *netLevel) far(ctx context.Context, args []string) error {
	// A name could stand for an address that the user did not mean.
	address, err := netip.ParseAddr(l.serve)
	if err != nil || len(args) > 0 || l.o.Port < 1 || l.o.Port > 65534 {
		return cli.Usage(errs.New(errs.Invalid, "hemera.Bench", "--serve", "it takes one address of this machine, a --port below 65535, and no host").
			WithRemedy("hemera bench net --serve 10.0.0.2; ip address lists the addresses"))
	}
	// The next port is used too.
	at := netip.AddrPortFrom(address, uint16(l.o.Port)) // #nosec G115 -- bounded above
	// To the terminal, because it is no output for programs.
	return net.Serve(ctx, at, func(version string) {
		fmt.Fprintf(l.e.Err, "iperf3 %s serves at %s and what the processors do at port %d, to everyone who reaches them; Ctrl-C ends it\n", version, at, at.Port()+1)
	})
}
