package doctor

import (
	"fmt"
	"slices"
	"strings"
)

// processor judges frequencies and instructions.
func processor(s *Snapshot) (list []Finding) {
	if f, bad := governor(s.Processor.Cores); bad {
		list = append(list, f)
	}
	// Instructions that a virtual machine lacks are often in the hardware below it.
	flags := s.Processor.Flags
	if len(flags) == 0 { // the kernel does not tell
		return list
	}
	needs := func(id string, all []string, cost string) {
		var missing []string
		for _, f := range all {
			if !slices.Contains(flags, f) {
				missing = append(missing, f)
			}
		}
		if len(missing) > 0 {
			list = append(list, Finding{
				ID: id, Severity: Hint, Evidence: "the processor has no " + strings.Join(missing, ", ") + cost,
				Remedy: "in a virtual machine, pass the host's processor through (QEMU: -cpu host); else another processor",
			})
		}
	}
	// The rate shows how much it matters here.
	sums := ""
	if s.Processor.Checksum > 0 {
		sums = fmt.Sprintf("; one core computes checksums of %s", RateText(s.Processor.Checksum))
	}
	switch s.Machine.Arch {
	case "amd64":
		needs("cpu-no-crc32", []string{"sse4_2", "pclmulqdq"}, sums)
		needs("cpu-no-simd", []string{"avx2"}, ": parity of coded files is computed with narrower registers")
	case "arm64":
		needs("cpu-no-crc32", []string{"crc32", "pmull"}, sums)
		needs("cpu-no-simd", []string{"asimd"}, ": parity of coded files is computed without vectors")
	}
	return list
}

// governor reports cores that did not reach their frequency while all cores worked. A governor alone is no finding: under
// intel_pstate and amd-pstate "powersave" is the one that follows the load.
func governor(cores []Clocking) (Finding, bool) {
	var slow []Clocking // below 0.6 of the maximum
	for _, c := range cores {
		if c.Now > 0 && c.Max > 0 && c.Governor != "performance" && float64(c.Now) < 0.6*float64(c.Max) {
			slow = append(slow, c)
		}
	}
	if len(slow) == 0 {
		return Finding{}, false
	}
	// One core as the example: under full load all are alike.
	c := slow[0]
	return Finding{
		ID: "cpu-governor", Severity: Problem, Subject: fmt.Sprintf("%d of %d cores", len(slow), len(cores)),
		Evidence: fmt.Sprintf("core %d ran at %.1f GHz of %.1f under full load; its governor is %s", c.ID, float64(c.Now)/1e9, float64(c.Max)/1e9, c.Governor),
		Remedy:   "echo performance > /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor, for each core",
		Gain:     fmt.Sprintf("up to %.1f times where a core is the narrowest (measured frequency)", float64(c.Max)/float64(c.Now)),
		Fix:      &Fix{"sys/devices/system/cpu/cpu*/cpufreq/scaling_governor", "performance"},
	}, true
}

// numa reports fast links and disks at different nodes: their bytes cross the link between sockets.
func numa(s *Snapshot) (list []Finding) {
	if s.Processor.Nodes < 2 {
		return nil
	}
	for _, l := range s.Links {
		if l.Virtual || l.NUMANode < 0 || l.Speed < 10e9/8 {
			continue
		}
		var far []string // disks at other nodes
		for _, d := range s.Disks {
			if d.NUMANode >= 0 && d.NUMANode != l.NUMANode {
				far = append(far, d.Name)
			}
		}
		if len(far) > 0 && len(far) == len(s.Disks) { // mixed placement is usual in machines with two sockets
			list = append(list, Finding{
				ID: "numa-remote", Subject: l.Name, Severity: Hint,
				Evidence: fmt.Sprintf("%s is at NUMA node %d, every disk (%s) at another", l.Name, l.NUMANode, strings.Join(far, ", ")),
				Remedy:   fmt.Sprintf("put the card into a slot of the socket of the disks, or run the node at that of the card: numactl --cpunodebind=%d", l.NUMANode),
			})
		}
	}
	return list
}
