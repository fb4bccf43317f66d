package tapeconfig

import "encoding/json"

// Defaults returns the configuration of a fresh system: what is archived without any set-up. Class, pool, organisation and policy are called
// [DefaultName].
//
// Mount criteria are for sites of a few LTO-9 drives. Mounting, positioning and unmounting take more than two minutes, in which a drive
// writes about 50 GB; with 100 GB a mount, two thirds of its time are useful. CTA's own are 50 GB or 10,000 files, and no time to linger.
func Defaults() Config {
	return Config{
		Media:         mediaTypes(),
		Organisations: map[string]Organisation{DefaultName: {ReadDrives: 100, WriteDrives: 100}},
		Pools:         map[string]Pool{DefaultName: {Organisation: DefaultName, PartialTapes: 2}},
		Classes:       map[string]Class{DefaultName: {Copies: 1, Organisation: DefaultName}},
		Routes:        map[string]Route{DefaultName + "/1": {Class: DefaultName, Copy: 1, Type: RouteDefault, Pool: DefaultName}},
		Policies: map[string]Policy{DefaultName: {
			ArchivePriority: 1, ArchiveMinAge: 15 * 60,
			RecallPriority: 1, RecallMinAge: 2 * 60,
		}},
		Rules:     map[string]Rule{},
		Libraries: map[string]Library{},
		Mounting:  map[string]Mounting{DefaultName: {MinBytes: 100e9, MinFiles: 2000, Linger: 60, Turn: 30 * 60, Batch: 10 << 30, Verify: 365 * 24 * 3600, ReadBack: "3"}},
		Buffers:   map[string]Buffer{DefaultName: {EvictBelow: 10, EvictUntil: 15, MinAge: 2 * 60 * 60, Keep: 2}},
	}
}

// Decode reads a configuration as it was stored. What an earlier version did not store is as in [Defaults].
func Decode(raw []byte) (c Config, err error) {
	err = json.Unmarshal(raw, &c)
	if c.Buffers == nil {
		c.Buffers = Defaults().Buffers
	}
	return c, err
}

// UnmarshalJSON reads what was stored, also by a version with fewer fields.
func (m *Mounting) UnmarshalJSON(raw []byte) error {
	type plain Mounting
	*m = Defaults().Mounting[DefaultName]
	return json.Unmarshal(raw, (*plain)(m))
}

// mediaTypes returns the kinds of LTO cartridges that are sold or still read. Capacities, suffixes and density codes are those of the LTO program; wraps are
// those of vendors' specifications.
func mediaTypes() map[string]MediaType {
	return map[string]MediaType{
		"LTO-7":    {Cartridge: "LTO-7", Suffix: "L7", Capacity: 6e12, Density: 0x5c, Wraps: 112},
		"LTO-7 M8": {Cartridge: "LTO-7", Suffix: "M8", Capacity: 9e12, Density: 0x5d, Wraps: 168},
		"LTO-8":    {Cartridge: "LTO-8", Suffix: "L8", Capacity: 12e12, Density: 0x5e, Wraps: 208},
		"LTO-9":    {Cartridge: "LTO-9", Suffix: "L9", Capacity: 18e12, Density: 0x60, Wraps: 280},
		"LTO-10":   {Cartridge: "LTO-10", Suffix: "LA", Capacity: 30e12, Density: 0x62, Wraps: 472},
	}
}
