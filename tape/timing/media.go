package timing

import (
	"strings"
	"time"
)

// Media is one kind of cartridge in a full-height drive of its own generation. Rates are bytes per second without compression.
type Media struct {
	Name     string // as people say it: "LTO-9"
	Suffix   string // of barcodes: "L9"
	Density  uint8  // density code of MODE SENSE
	Capacity int64  // bytes
	Geometry
	Rate   int64   // native, when the tape streams
	Speeds []int64 // steps of speed matching, fastest first; the first is Rate
	Buffer int64   // bytes of memory in the drive

	Load   time.Duration // from the cartridge in the drive to ready
	Unload time.Duration // from the beginning of the tape to a cartridge that a robot can take
	Rewind Rewinds       // what an unload adds to Unload
	Locate time.Duration // average from the beginning of the tape, as published; the model does not use it
}

// Rewinds is the time of the rewind that is part of an unload. Drives of generation 9 wind the whole tape once or twice more after much activity, to
// even its tension.
type Rewinds struct {
	Short  time.Duration // less than 5 GB moved
	Medium time.Duration // 5 to 50 GB
	Long   time.Duration // more
}

// mb is a megabyte as vendors count.
const mb = 1_000_000

// bufferBytes is the memory of a drive: an estimate for full-height drives of today.
const bufferBytes = 1 << 30

// Medias lists all kinds, oldest first.
//
// Capacity, rate, density, suffix: the LTO program and vendors' specifications. Load, unload, rewind and locate: the table "performance" in
// IBM's TS2290 user's guide; it ends at generation 9, and generation 10 is an estimate with the same figures. Wraps are data tracks by 32 heads; those of generation
// 10 are an estimate.
// Minimum and maximum LPOS of 960 m of tape are those that sites use with generation 7 M; 1,035 m are scaled from them, an estimate.
// Steps of speed: Quantum's guide for full-height LTO-9 drives, and the slowest of LTO-8. Steps between the ends of other kinds are evenly spaced: an estimate.
func Medias() []Media {
	const minute = time.Minute
	return []Media{
		{
			Name: "LTO-7", Suffix: "L7", Density: 0x5c, Capacity: 6000 * 1000 * mb, Geometry: geometry(112, 171097, 6000*1000*mb),
			Rate: 300 * mb, Speeds: evenSteps(300, 100), Buffer: bufferBytes,
			Load: 15 * time.Second, Unload: 20 * time.Second, Rewind: Rewinds{minute, minute, minute}, Locate: 56 * time.Second,
		},
		{ // in a drive of generation 8, the only one that takes it
			Name: "LTO-7 M8", Suffix: "M8", Density: 0x5d, Capacity: 9000 * 1000 * mb, Geometry: geometry(168, 171097, 9000*1000*mb),
			Rate: 300 * mb, Speeds: evenSteps(300, 100), Buffer: bufferBytes,
			Load: 15 * time.Second, Unload: 24 * time.Second, Rewind: Rewinds{minute, minute, minute}, Locate: 59 * time.Second,
		},
		{
			Name: "LTO-8", Suffix: "L8", Density: 0x5e, Capacity: 12000 * 1000 * mb, Geometry: geometry(208, 171097, 12000*1000*mb),
			Rate: 360 * mb, Speeds: evenSteps(360, 112), Buffer: bufferBytes,
			Load: 15 * time.Second, Unload: 24 * time.Second, Rewind: Rewinds{59 * time.Second, 59 * time.Second, 59 * time.Second}, Locate: 59 * time.Second,
		},
		{
			Name: "LTO-9", Suffix: "L9", Density: 0x60, Capacity: 18000 * 1000 * mb, Geometry: geometry(280, 184253, 18000*1000*mb),
			Rate: 400 * mb, Speeds: speeds9(), Buffer: bufferBytes,
			Load: 16 * time.Second, Unload: 56 * time.Second, Rewind: Rewinds{62 * time.Second, 124 * time.Second, 186 * time.Second}, Locate: 65 * time.Second,
		},
		{
			Name: "LTO-10", Suffix: "LA", Density: 0x62, Capacity: 30000 * 1000 * mb, Geometry: geometry(472, 184253, 30000*1000*mb),
			Rate: 400 * mb, Speeds: speeds9(), Buffer: bufferBytes,
			Load: 16 * time.Second, Unload: 56 * time.Second, Rewind: Rewinds{62 * time.Second, 124 * time.Second, 186 * time.Second}, Locate: 65 * time.Second,
		},
	}
}

// speeds9 returns the steps of a full-height LTO-9 drive. Its top step is published as 408 MB/s; it is cut to the native rate that the same vendor
// promises.
func speeds9() (steps []int64) {
	for _, s := range []int64{400, 385, 366, 347, 325, 305, 284, 263, 244, 223, 203, 177} {
		steps = append(steps, s*mb)
	}
	return steps
}

// evenSteps returns 12 speeds from top down to bottom, in MB/s.
func evenSteps(top, bottom int64) (steps []int64) {
	const count = 12 // as many as LTO-9 has
	for i := range int64(count) {
		steps = append(steps, (top*mb*(count-1-i)+bottom*mb*i)/(count-1))
	}
	return steps
}

// MediaOfBarcode returns the kind of cartridge that the last two characters of a barcode name, and the VID: what stands before them.
// It is false for cleaning cartridges, for barcodes without a suffix, and for kinds that are not in the table.
func MediaOfBarcode(barcode string) (m Media, vid string, ok bool) {
	if len(barcode) < 3 {
		return Media{}, "", false
	}
	vid = barcode[:len(barcode)-2]
	if strings.HasPrefix(vid, "CLN") { // LTO reserves it for cleaning
		return Media{}, "", false
	}
	m, ok = mediaWhere(func(m Media) bool { return strings.EqualFold(m.Suffix, barcode[len(vid):]) })
	if !ok {
		return Media{}, "", false
	}
	return m, vid, true
}

// MediaOfDensity returns the kind with this density code.
func MediaOfDensity(code uint8) (Media, bool) {
	return mediaWhere(func(m Media) bool { return m.Density == code })
}

// MediaOfName returns the kind with this name or suffix. Case, "-" and blanks do not count: "lto9" is LTO-9.
func MediaOfName(name string) (Media, bool) {
	plain := strings.NewReplacer("-", "", " ", "")
	return mediaWhere(func(m Media) bool {
		return strings.EqualFold(m.Suffix, name) || strings.EqualFold(plain.Replace(m.Name), plain.Replace(name))
	})
}

// mediaWhere returns the first kind that fits.
func mediaWhere(fits func(Media) bool) (Media, bool) {
	for _, m := range Medias() {
		if fits(m) {
			return m, true
		}
	}
	return Media{}, false
}

// WithCapacity returns the same cartridge with less or more room. Length, wraps and speeds stay, so that places are as far apart as on a full
// cartridge: a small one behaves like a large one whose bytes are thinly spread. Capacities below one byte are ignored.
func (m Media) WithCapacity(bytes int64) Media {
	if bytes > 0 {
		m.Capacity = bytes
		m.Geometry.Bytes = bytes
	}
	return m
}
