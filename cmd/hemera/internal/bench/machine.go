package bench

import (
	"runtime"

	"hemera/measure/result"
)

// machine describes the machine of this process.
func machine(host string) result.Machine {
	return result.Machine{Name: host, Role: "local", Arch: runtime.GOARCH, Cores: runtime.NumCPU()}
}
