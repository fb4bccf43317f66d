package host

import (
	"runtime"
	"strconv"
	"strings"

	"hemera/measure/result"
)

// Describe describes a machine, from /proc and /sys below root. The role is that of [result.Machine]: client, node,
// manager or local. Fields without information are empty; Describe does not fail.
func Describe(root, role string) result.Machine {
	info, _ := read(root, "proc/cpuinfo")
	memory, _ := ReadMemory(root)
	arch, cpu := ParseCPUInfo(info)
	if model := line(root, "proc/device-tree/model"); model != "" { // boards have names, their cores only numbers
		cpu = strings.TrimSuffix(model+", "+cpu, ", ")
	}
	if arch == "" {
		arch = runtime.GOARCH
	}
	// Only cores that are on: the kernel counts time for these only.
	m := result.Machine{
		Name: line(root, "proc/sys/kernel/hostname"), Role: role, Arch: arch, CPU: cpu, Memory: memory.Total,
		Kernel: line(root, "proc/sys/kernel/osrelease"), System: system(root), Virtual: hypervisor(root, info),
	}
	if c, err := ReadCPU(root); err == nil {
		m.Cores = len(c.Cores)
	}
	for _, name := range names(root, "sys/block") {
		if d := ReadDevice(root, name); d.Size > 0 && !inMemory(name) {
			m.Disks = append(m.Disks, d)
		}
	}
	// Links that are down transfer nothing, and the loopback interface has no state.
	for _, name := range names(root, "sys/class/net") {
		if line(root, "sys/class/net/"+name+"/operstate") == "up" {
			m.Links = append(m.Links, readLink(root, name))
		}
	}
	return m
}

// inMemory reports whether a device is a file or memory and not a disk of the machine.
func inMemory(name string) bool {
	for _, prefix := range []string{"loop", "ram", "zram", "sr", "fd"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && strings.Trim(rest, "0123456789") == "" {
			return true
		}
	}
	return false
}

// readLink describes a network interface. If a driver does not know its speed, the file has -1 or cannot be read.
func readLink(root, name string) result.Link {
	dir := "sys/class/net/" + name
	mtu, _ := strconv.Atoi(line(root, dir+"/mtu"))
	return result.Link{Name: name, Speed: max(0, number(root, dir+"/speed")) * 1e6 / 8, MTU: mtu}
}

// system returns the name of the distribution.
func system(root string) string {
	for _, file := range []string{"etc/os-release", "usr/lib/os-release"} {
		text, _ := read(root, file)
		for l := range strings.Lines(text) {
			if value, ok := strings.CutPrefix(l, "PRETTY_NAME="); ok {
				return strings.Trim(strings.TrimSpace(value), `"'`)
			}
		}
	}
	return ""
}

// hypervisor returns the name of the hypervisor whose guest the machine is, or "".
func hypervisor(root, cpuinfo string) string {
	if kind := line(root, "sys/hypervisor/type"); kind != "" {
		return kind
	}
	if tree := line(root, "proc/device-tree/hypervisor/compatible"); tree != "" {
		return tree
	}
	product := strings.TrimSpace(line(root, "sys/class/dmi/id/sys_vendor") + " " + line(root, "sys/class/dmi/id/product_name"))
	// Real machines also have a vendor and a product, and so do bare-metal instances of clouds, whose product ends in
	// .metal.
	for _, word := range []string{"KVM", "QEMU", "VMware", "VirtualBox", "Xen", "Virtual Machine", "Amazon EC2", "Google Compute", "OpenStack", "Bochs"} {
		if strings.Contains(product, word) && !strings.Contains(product, ".metal") {
			return product
		}
	}
	// A guest without firmware tables still has the processor's flag.
	for l := range strings.Lines(cpuinfo) {
		if name, flags, ok := strings.Cut(l, ":"); ok && strings.TrimSpace(name) == "flags" {
			if strings.Contains(flags+" ", " hypervisor ") {
				return "unknown hypervisor"
			}
			break
		}
	}
	return ""
}
