package tier

import (
	"context"
	"fmt"

	"hemera/words/errs"
	"hemera/words/tapeapi"
)

// TapeSession implements adminapi.TapeSessions.
func (t *reporter) TapeSession(_ context.Context, mount tapeapi.MountID) (tapeapi.Session, error) {
	// Those of before the manager's start are not known.
	s, there := t.mounts.session(mount)
	if !there {
		return s, errs.New(errs.NotFound, "tier.Session", fmt.Sprint(mount), "no such session ended lately").
			WithRemedy("see `hemera tape session ls`")
	}
	return s, nil
}
