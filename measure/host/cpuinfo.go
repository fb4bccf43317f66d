package host

import "strings"

// ParseCPUInfo returns the architecture, with Go's name, and the name of the processor from the text of /proc/cpuinfo; ""
// if they are missing. arm64 has numbers of makers and cores in place of a name.
func ParseCPUInfo(text string) (arch, cpu string) {
	// The first processor stands for all; after the last, arm64 may have lines about the board, such as Hardware.
	values := map[string]string{}
	for l := range strings.Lines(text) {
		key, value, ok := strings.Cut(l, ":")
		key = strings.TrimSpace(key)
		if _, seen := values[key]; ok && !seen {
			values[key] = strings.TrimSpace(value)
		}
	}
	// Only arm64 writes an implementer, only x86 a vendor_id.
	switch {
	case values["CPU implementer"] != "":
		return "arm64", armCore(values["CPU implementer"], values["CPU part"], values["Hardware"])
	case values["vendor_id"] != "":
		return "amd64", values["model name"]
	}
	return "", values["model name"]
}

// armCore returns the name of a core with the numbers of its maker and its kind, from the kernel's
// arch/arm64/include/asm/cputype.h.
func armCore(maker, part, hardware string) string {
	name := armCores(maker + " " + part)
	switch {
	case name == "" && hardware != "":
		return hardware
	case name == "":
		return "core " + part + " of maker " + maker
	case hardware != "":
		return hardware + ", " + name
	}
	return name
}

// armCores returns the names of cores in storage servers and small boards.
func armCores(number string) string {
	return map[string]string{
		"0x41 0xd03": "ARM Cortex-A53",
		"0x41 0xd05": "ARM Cortex-A55",
		"0x41 0xd07": "ARM Cortex-A57",
		"0x41 0xd08": "ARM Cortex-A72",
		"0x41 0xd09": "ARM Cortex-A73",
		"0x41 0xd0a": "ARM Cortex-A75",
		"0x41 0xd0b": "ARM Cortex-A76",
		"0x41 0xd0c": "ARM Neoverse N1",
		"0x41 0xd40": "ARM Neoverse V1",
		"0x41 0xd49": "ARM Neoverse N2",
		"0x41 0xd4f": "ARM Neoverse V2",
		"0x41 0xd8e": "ARM Neoverse N3",
		"0x43 0x0af": "Cavium ThunderX2",
		"0x46 0x001": "Fujitsu A64FX",
		"0x48 0xd01": "HiSilicon TaiShan v110 (Kunpeng 920)",
		"0x48 0xd02": "HiSilicon TaiShan v120",
		"0xc0 0xac3": "Ampere-1",
		"0xc0 0xac4": "Ampere-1A",
	}[number]
}
