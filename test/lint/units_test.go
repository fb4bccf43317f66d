package lint

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestUnitsGiveNoRights: the units for systemd run as an ordinary user that can gain nothing.
func TestUnitsGiveNoRights(t *testing.T) {
	units, err := filepath.Glob("../../docs/systemd/*.service")
	if err != nil || len(units) != 2 {
		t.Fatal(units, err)
	}
	for _, unit := range units {
		text, err := os.ReadFile(unit)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{
			"User=hemera", "NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict", "ProtectHome=yes", "PrivateTmp=yes",
			"PrivateDevices=yes", "RestrictSUIDSGID=yes", "MemoryDenyWriteExecute=yes", "UMask=0077", "Restart=always", "WantedBy=multi-user.target",
		} {
			if !strings.Contains("\n"+string(text), "\n"+line+"\n") {
				t.Errorf("%s has no line %s", unit, line)
			}
		}
		if strings.Contains(string(text), "--join") {
			t.Errorf("%s: a token on the command line is for everybody to read", unit)
		}
	}
}
