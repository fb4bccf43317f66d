package place_test

import (
	"fmt"
	"log"

	"hemera/rules/place"
	"hemera/words/hemera"
)

// Two replicas go to disks of two nodes, which are in two zones. The choice depends on the view and the seed alone.
func ExampleChoose() {
	view := &hemera.View{}
	for n := range 4 {
		node := hemera.NodeID(n + 1)
		zone := []string{"room1", "room2"}[n/2]
		view.Nodes = append(view.Nodes, hemera.NodeInfo{ID: node, Addr: fmt.Sprintf("node%d:1095", node), Zone: zone, Status: hemera.NodeOnline, Enabled: true})
		for d := range 2 {
			view.Disks = append(view.Disks, hemera.Disk{
				ID: hemera.DiskID(2*n + d + 1), Node: node, Zone: zone, Space: "default", Active: true,
				Config: hemera.ConfigRW, Health: hemera.HealthOK, DiskStats: hemera.DiskStats{Capacity: 10 << 40, Free: 5 << 40},
			})
		}
	}
	choice, err := place.Choose(view, place.Request{Space: "default", Want: 2, Size: 1 << 30, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	for _, t := range choice.Targets {
		fmt.Println(t.Disk, t.Addr)
	}
	fmt.Println("of", choice.Eligible)

	_, err = place.Choose(view, place.Request{Space: "default", Want: 2, Size: 6 << 40, Seed: 1})
	fmt.Println(err)
	// Output:
	// 3 node2:1095
	// 5 node3:1095
	// of 8
	// place.Choose space default: 0 of its 8 disks can take a piece of 6597069766656 bytes, 1 needed: 8 have too little free space; the largest piece that fits has 5497558138880 bytes
}
