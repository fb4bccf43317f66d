package wire

import (
	"strconv"
	"strings"
)

// ParseSpaceInfo decodes the answer to kXR_stat with StatVFS.
func ParseSpaceInfo(b []byte) (SpaceInfo, error) {
	text := cString(b)
	fields := strings.Fields(text)
	var v [6]int64
	if len(fields) < len(v) {
		return SpaceInfo{}, fail(InvalidRequest, "space answer %.80q has %d fields, needs 6", text, len(fields))
	}
	for i := range v {
		n, err := strconv.ParseInt(fields[i], 10, 64)
		if err != nil {
			return SpaceInfo{}, fail(InvalidRequest, "space answer %.80q: %v", text, err)
		}
		v[i] = n
	}
	return SpaceInfo{v[0], v[1], v[2], v[3], v[4], v[5]}, nil
}
