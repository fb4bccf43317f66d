package observe

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hemera/measure/doctor"
	"hemera/measure/host"
)

// links describes the interfaces that are up, and the limits of TCP.
func (v *observer) links() {
	// Without the loopback.
	for _, l := range v.s.Machine.Links {
		dir := "sys/class/net/" + l.Name
		link := doctor.Link{Name: l.Name, Speed: l.Speed, MTU: l.MTU, Half: host.Line(v.Root, dir+"/duplex") == "half", NUMANode: -1, Since: v.packets(l.Name)}
		// Bridges, bonds and tunnels have no device of their own.
		_, err := os.Stat(filepath.Join(v.Root, dir, "device"))
		link.Virtual = err != nil
		if n, ok := host.Number(v.Root, dir+"/device/numa_node"); ok {
			link.NUMANode = int(n)
		}
		for _, q := range host.Names(v.Root, dir+"/queues") {
			if strings.HasPrefix(q, "rx-") {
				link.Queues++
			}
		}
		link.Interrupts = v.interrupts(l.Name)
		// Virtual cards often have no speed; rules that need one are skipped then.
		if l.Speed == 0 && !link.Virtual {
			v.unseen("speed of "+l.Name, "its driver does not tell", "")
		}
		v.s.Links = append(v.s.Links, link)
	}
	// Each is a triple: minimum, default, maximum.
	n := &v.s.Network
	n.ReceiveMax, n.SendMax = lastNumber(host.Line(v.Root, "proc/sys/net/ipv4/tcp_rmem")), lastNumber(host.Line(v.Root, "proc/sys/net/ipv4/tcp_wmem"))
	n.NoScaling = host.Line(v.Root, "proc/sys/net/ipv4/tcp_window_scaling") == "0"
}

// lastNumber returns the last number of a line: the maximum of a triple.
func lastNumber(text string) int64 {
	f := strings.Fields(text)
	if len(f) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(f[len(f)-1], 10, 64)
	return n
}

// packets reads the counters of an interface. Packets of unknown protocols, which rx_dropped includes, are no loss.
func (v *observer) packets(name string) doctor.Packets {
	// Drivers count differently; the sums of the kernel are comparable.
	count := func(file string) uint64 {
		n, _ := host.Number(v.Root, "sys/class/net/"+name+"/statistics/"+file)
		return uint64(max(0, n)) // #nosec G115 -- not negative
	}
	return doctor.Packets{
		Received: count("rx_packets"), Sent: count("tx_packets"), BadReceived: count("rx_errors"),
		Missed: count("rx_missed_errors") + count("rx_fifo_errors"), BadSent: count("tx_errors") + count("tx_dropped"),
	}
}

// linksAgain adds the packets since the links were read.
func (v *observer) linksAgain() {
	for i := range v.s.Links {
		l := &v.s.Links[i]
		// The difference is that of this measurement.
		now := v.packets(l.Name)
		l.During = doctor.Packets{
			Received: grown(now.Received, l.Since.Received), Sent: grown(now.Sent, l.Since.Sent), BadReceived: grown(now.BadReceived, l.Since.BadReceived),
			Missed: grown(now.Missed, l.Since.Missed), BadSent: grown(now.BadSent, l.Since.BadSent),
		}
	}
}

// grown returns the growth of a counter; after a reload of the driver it begins at 0.
func grown(after, before uint64) uint64 { return after - min(after, before) }

// interrupts sums the interrupts of a link for each core. The kernel lists the numbers of PCI devices, and names the
// others after the link.
func (v *observer) interrupts(name string) []uint64 {
	fs, ok := v.proc()
	if !ok {
		return nil
	}
	// The file is the same for all processes.
	p, err := fs.Proc(1)
	if err != nil {
		return nil
	}
	all, err := p.Interrupts()
	if err != nil {
		return nil
	}
	// A card with several queues has an interrupt for each.
	numbers := host.Names(v.Root, "sys/class/net/"+name+"/device/msi_irqs")
	var sum []uint64 // by core
	for number, line := range all {
		words := strings.Fields(line.Info + " " + line.Devices)
		own := len(words) > 0 && (words[len(words)-1] == name || strings.HasPrefix(words[len(words)-1], name+"-"))
		if !own && !slices.Contains(numbers, number) {
			continue
		}
		for core, text := range line.Values {
			n, _ := strconv.ParseUint(text, 10, 64)
			if core >= len(sum) {
				sum = append(sum, 0)
			}
			sum[core] += n
		}
	}
	return sum
}

// coalescing asks ethtool how long fast links delay interrupts.
func (v *observer) coalescing(ctx context.Context) {
	for i := range v.s.Links {
		l := &v.s.Links[i]
		if l.Virtual || float64(l.Speed) < 10e9/8 {
			continue
		}
		// The kernel has this only by ioctl or netlink; the program uses both.
		out, missing := program(ctx, "ethtool", "-c", l.Name)
		if missing {
			v.unseen("interrupt coalescing of "+l.Name, "ethtool is not installed", "apt install ethtool")
			return
		}
		l.Coalesce = parseCoalesce(string(out))
	}
}

// parseCoalesce parses the text of ethtool -c. It returns nil if the driver reports nothing.
func parseCoalesce(text string) *doctor.Delay {
	// Lines are "rx-usecs: 8" or "Adaptive RX: on  TX: off"; n/a means that the driver does not have it.
	var d doctor.Delay
	found := false
	for l := range strings.Lines(text) {
		key, rest, _ := strings.Cut(l, ":")
		first, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
		first = strings.TrimSpace(first)
		switch strings.TrimSpace(key) {
		case "Adaptive RX":
			d.Adaptive = first == "on"
		case "rx-usecs":
			n, err := strconv.Atoi(first)
			found = err == nil
			d.Receive = time.Duration(n) * time.Microsecond
		case "rx-frames":
			d.Frames, _ = strconv.Atoi(first)
		}
	}
	if !found {
		return nil
	}
	return &d
}
