package doctor

// Severity is the importance of a finding.
type Severity string

// The severities.
const (
	Problem Severity = "problem" // figures of this machine show a cost, or something failed
	Risk    Severity = "risk"    // nothing is lost yet
	Hint    Severity = "hint"    // published measurements show a cost, this machine has not
)

// Finding is one fault, risk or setting that should change.
type Finding struct {
	ID       string   `json:"id"`      // one of [Catalogue], the same in every version
	Level    string   `json:"level"`   // level of the data path
	Subject  string   `json:"subject"` // the disk, link or file system, or ""
	Severity Severity `json:"severity"`
	Evidence string   `json:"evidence"`       // a sentence with figures
	Remedy   string   `json:"remedy"`         // the action, as a command if there is one
	Gain     string   `json:"gain,omitempty"` // the expected effect, with its source
	Fix      *Fix     `json:"fix,omitempty"`  // nil if no reversible change of a setting repairs it
}

// Fix is a change of one setting of the kernel.
type Fix struct {
	File  string `json:"file"`  // below the root, such as sys/block/sda/queue/read_ahead_kb
	Value string `json:"value"` // to write
}

// Report is the diagnosis of a snapshot.
type Report struct {
	Levels   []Level   `json:"levels"`
	Narrow   Narrow    `json:"narrowest"`
	Findings []Finding `json:"findings"`
	Unseen   []Unseen  `json:"unseen,omitempty"`
}

// Kind is one possible id of findings.
type Kind struct {
	ID, Level string
	Title     string // short description
}

// Catalogue returns all ids of findings, in the order of a report.
func Catalogue() []Kind {
	return []Kind{
		{"smart-failing", LevelDevice, "A disk says that it fails"},
		{"disk-readahead", LevelDevice, "One reader starves on a small read-ahead"},
		{"disk-max-sectors", LevelDevice, "Requests are cut into small ones"},
		{"disk-scheduler", LevelDevice, "The I/O scheduler does not suit the disk"},
		{"disk-slow", LevelDevice, "A disk is much slower than others"},
		{"fs-errors", LevelFilesystem, "A file system found errors in itself"},
		{"fs-read-only", LevelFilesystem, "A file system of a disk became read-only"},
		{"fs-mount-options", LevelFilesystem, "Mount options slow it down or endanger it"},
		{"fs-nearly-full", LevelFilesystem, "A file system is nearly full"},
		{"fs-inodes", LevelFilesystem, "A file system runs out of inodes"},
		{"fs-fragmented", LevelFilesystem, "Free space is in small parts"},
		{"fs-slow", LevelFilesystem, "A file system is slower than its device"},
		{"cpu-governor", LevelMemory, "Cores stay slow under load"},
		{"cpu-no-crc32", LevelMemory, "No instruction for CRC-32C"},
		{"cpu-no-simd", LevelMemory, "No vector instructions for coded files"},
		{"numa-remote", LevelMemory, "Disks and network are at different NUMA nodes"},
		{"bus-shared", LevelBus, "Disks together reach less than one by one"},
		{"net-errors", LevelNIC, "An interface loses packets"},
		{"net-duplex", LevelNIC, "A link is half-duplex"},
		{"net-irq-one-core", LevelNIC, "One core has all interrupts of a fast link"},
		{"net-coalescing", LevelNIC, "A fast link interrupts for every packet"},
		{"net-buffers", LevelPath, "TCP buffers are too small for the link"},
		{"net-mtu", LevelPath, "Jumbo frames do not reach the cluster"},
		{"net-loss", LevelPath, "Packets are lost on the way"},
		{"clock-skew", LevelHost, "The clock differs from the cluster's"},
		{"limit-files", LevelHost, "Processes may open too few files"},
		{"limit-memory", LevelHost, "Memory is short"},
		{"cluster-unreachable", LevelPath, "The cluster does not answer"},
		{"cluster-version", LevelHost, "The cluster runs another version"},
	}
}
