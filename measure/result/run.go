package result

import "time"

// Schema is the version of result.json that this package writes.
const Schema = 1

// Run is the content of result.json.
type Run struct {
	Schema   int       `json:"schema"`
	ID       string    `json:"id"`      // time and host of the start, unique enough for the name of a directory
	Title    string    `json:"title"`   // for people
	Version  string    `json:"version"` // of Hemera
	Command  []string  `json:"command,omitempty"`
	Began    time.Time `json:"began"`
	Ended    time.Time `json:"ended,omitzero"` // zero while the run is in progress, or if it was killed
	Stopped  string    `json:"stopped,omitempty"`
	Source   string    `json:"source,omitempty"` // of published results: the publication
	Others   *Others   `json:"others,omitempty"` // of the machine that ran the command; nil if unknown
	Quick    bool      `json:"quick,omitempty"`  // of a short run with --quick, whose results are rough
	Machines []Machine `json:"machines"`
	Levels   []Level   `json:"levels"`
}

// Others is the load of the machine by other work, as fractions of all processors.
type Others struct {
	Before float64 `json:"before"` // not idle, just before the run
	Steal  float64 `json:"steal"`  // taken by the hypervisor, during the run
}

// Machine is a host of the run.
type Machine struct {
	Name    string   `json:"name"`
	Role    string   `json:"role"` // client, node, manager or local
	Arch    string   `json:"arch"`
	CPU     string   `json:"cpu"`
	Cores   int      `json:"cores"`
	Memory  int64    `json:"memory_bytes"`
	Kernel  string   `json:"kernel"`
	System  string   `json:"system"`
	Disks   []Device `json:"disks,omitempty"`
	Links   []Link   `json:"links,omitempty"`
	Virtual string   `json:"virtual,omitempty"` // the hypervisor, if there is one
}

// Device is a block device.
type Device struct {
	Name      string `json:"name"` // as below /sys/block
	Model     string `json:"model,omitempty"`
	Size      int64  `json:"size_bytes"`
	Rotating  bool   `json:"rotating"`
	Scheduler string `json:"scheduler,omitempty"`
	ReadAhead int64  `json:"read_ahead_bytes"`
}

// Link is a network interface.
type Link struct {
	Name  string `json:"name"`
	Speed int64  `json:"speed_bytes_per_s,omitempty"` // 0 if the driver does not report it
	MTU   int    `json:"mtu"`
}

// Level is one part of a run.
type Level struct {
	Name     string            `json:"name"`
	Began    time.Time         `json:"began"`
	Ended    time.Time         `json:"ended,omitzero"`
	Settings map[string]string `json:"settings,omitempty"`
	Tools    []Tool            `json:"tools,omitempty"`
	// fraction of the machine's processors that were not idle, in the busiest tenth of its seconds; 0: unknown
	Busy     float64   `json:"busy,omitempty"`
	Measures []Measure `json:"measures"`
	Figures  []Figure  `json:"figures,omitempty"`
	Skipped  []Skipped `json:"skipped,omitempty"`
	// Iterations has the times and the amounts of the level's work, to align other measurements, such as power, with it.
	Iterations []Iteration `json:"iterations,omitempty"`
	Notes      []string    `json:"notes,omitempty"` // information that a reader needs to judge the results
}

// Iteration is one repetition of the work under one set of conditions: from its begin to its end, without preparations.
type Iteration struct {
	Labels Labels    `json:"labels,omitempty"` // those of its measures
	Began  time.Time `json:"began"`
	Ended  time.Time `json:"ended"`
	Bytes  int64     `json:"bytes,omitempty"`      // read and written for the user; 0 if none
	Ops    int64     `json:"operations,omitempty"` // 0 if the work is measured in bytes only
}

// Tool is a program that made a load.
type Tool struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Skipped is a part that was not measured.
type Skipped struct {
	What   string `json:"what"`
	Why    string `json:"why"`
	Remedy string `json:"remedy,omitempty"`
}

// Better states which of two values is the better one.
type Better string

// The values of Better. Neither is for conditions that were measured too, such as a size.
const (
	Higher  Better = "higher"
	Lower   Better = "lower"
	Neither Better = ""
)

// Labels are the conditions of a measure. Keys and values are short words without spaces.
type Labels map[string]string

// Measure is one quantity under one set of conditions.
type Measure struct {
	Name    string    `json:"name"` // throughput, latency_p99, cpu, efficiency
	Labels  Labels    `json:"labels,omitempty"`
	Unit    string    `json:"unit"`
	Better  Better    `json:"better,omitempty"`
	Samples []float64 `json:"samples"`          // one for each iteration, in their order
	Series  []Point   `json:"series,omitempty"` // over the time of the run, if the course matters
	// Peak is the theoretical limit of the hardware, measured one level below, and PeakSD its standard deviation; 0 if
	// unknown. PeakFrom states its derivation.
	Peak     float64 `json:"peak,omitempty"`
	PeakSD   float64 `json:"peak_sd,omitempty"`
	PeakFrom string  `json:"peak_from,omitempty"`
	// Estimate states that the value was computed from a model and not measured.
	Estimate bool `json:"estimate,omitempty"`
	// Spread is the published standard deviation of results without published samples.
	Spread float64 `json:"spread,omitempty"`
}

// Tells reports whether a percentile of n values is more than their maximum: at least one value is expected above it. The
// median of a few values is always meaningful.
func Tells(n int64, percent float64) bool { return percent <= 50 || float64(n)*(100-percent) >= 100 }

// Point is a value at a time, in seconds since the start of the level.
type Point struct {
	At    float64 `json:"at"`
	Value float64 `json:"value"`
}

// Kind is the style of a figure.
type Kind string

// The kinds of figures.
const (
	Lines   Kind = "lines"   // values over a number: clients, streams, request size
	Bars    Kind = "bars"    // values by a word, beside each other
	Stacked Kind = "stacked" // parts of a whole on each other: usr, sys, irq, soft, idle
	Course  Kind = "course"  // the Series of measures over time
)

// Figure is a plot: all measures of its level with one of the names and all labels of Where. Measures that are equal
// except for X and Group belong to one figure, and other labels must be in Where, so that each point of X in each group
// is one measure.
type Figure struct {
	ID      string   `json:"id"` // a file name
	Title   string   `json:"title"`
	Caption string   `json:"caption,omitempty"` // what the reader should see
	Kind    Kind     `json:"kind"`
	Names   []string `json:"names"`           // of measures; several make one group each
	Where   Labels   `json:"where,omitempty"` // labels that a measure must have
	X       string   `json:"x,omitempty"`     // the label on the axis; empty for Course
	XTitle  string   `json:"x_title,omitempty"`
	Group   []string `json:"group,omitempty"` // the labels that make a line, a bar colour or a part of a stack
	LogX    bool     `json:"log_x,omitempty"`
	Peak    bool     `json:"peak,omitempty"` // draw the theoretical peak too
}
