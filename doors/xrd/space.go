package xrd

import (
	"fmt"

	"hemera/rules/wire"
	"hemera/words/hemera"
)

// spaceOf returns the space below a path, or all space for "".
func (n *nameHandlers) spaceOf(r *request, path string) (hemera.PathRoom, error) {
	if n.space == nil {
		return hemera.PathRoom{Name: hemera.DefaultSpace}, nil
	}
	return n.space(r.conn.ctx, r.who(), path)
}

// querySpace answers with the keys that `xrdfs spaceinfo` adds up. For some servers any other text than a path is the
// name of a space; here it means all space.
func (n *nameHandlers) querySpace(r *request, arg string) error {
	raw, _ := wire.SplitPath([]byte(arg))
	path, err := wire.CleanPath(raw)
	if err != nil {
		path = ""
	}
	s, err := n.spaceOf(r, path)
	if err != nil {
		return err
	}
	quota := s.Quota
	if quota == 0 { // the protocol's value for none is -1
		quota = -1
	}
	return r.okText(fmt.Sprintf("oss.cgroup=%s&oss.space=%d&oss.free=%d&oss.maxf=%d&oss.used=%d&oss.quota=%d",
		s.Name, s.Total, s.Free, s.LargestFree, s.Used, quota))
}

// statSpace answers kXR_stat with the vfs option.
func (n *nameHandlers) statSpace(r *request, path string) error {
	s, err := n.spaceOf(r, path)
	if err != nil {
		return err
	}
	v := wire.SpaceInfo{NodesRW: s.Disks, FreeRW: s.Free >> 20} // free space is in MiB here
	if s.Total > 0 {
		v.UseRW = min(100, max(0, (s.Total-s.Free)*100/s.Total))
	}
	return r.ok(v.Append(nil))
}
