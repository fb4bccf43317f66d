package hemera

// SpaceLoss says which losses the files survive that a space gets now, if all of its disks were well: what follows from its
// layout, and from where its disks are.
type SpaceLoss struct {
	Space        string
	Layout       Layout
	Nodes, Zones int // that have disks of the space
	// PerNode and PerZone are the most pieces of a file that one node has, and one zone.
	PerNode, PerZone int
	// Each says that any one of them can be lost.
	Disk, Node, Zone bool
}
