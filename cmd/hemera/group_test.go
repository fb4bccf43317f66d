package main

import (
	"testing"

	"hemera"
)

func TestFilledLeavesOutDisksThatAreNotThere(t *testing.T) {
	disks := []hemera.Disk{{Capacity: 100, Used: 40}, {Capacity: 200, Used: 120}, {}}
	if mean, sigma, worst := filled(disks); mean != 50 || sigma != 10 || worst != 10 {
		t.Errorf("mean %v, deviation %v, largest %v", mean, sigma, worst)
	}
	if mean, sigma, worst := filled(disks[2:]); mean != 0 || sigma != 0 || worst != 0 {
		t.Errorf("of none: %v %v %v", mean, sigma, worst)
	}
}
