package wire

import (
	"strconv"
	"strings"
)

// StatInfo is a stat line, all nine fields. Times are Unix seconds.
type StatInfo struct {
	ID                  uint64
	Size                int64
	Flags               uint32
	Mtime, Ctime, Atime int64
	Mode                uint32 // permission bits
	Owner, Group        string
}

// Append encodes the line without a newline: "id size flags mtime ctime atime 0644 owner group".
func (s StatInfo) Append(b []byte) []byte {
	b = strconv.AppendUint(b, s.ID, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, s.Size, 10)
	b = append(b, ' ')
	b = strconv.AppendUint(b, uint64(s.Flags), 10)
	for _, t := range [...]int64{s.Mtime, s.Ctime, s.Atime} {
		b = append(b, ' ')
		b = strconv.AppendInt(b, t, 10)
	}
	b = append(b, ' ')
	for shift := 9; shift >= 0; shift -= 3 {
		b = append(b, '0'+byte(s.Mode>>shift&7))
	}
	b = append(b, ' ')
	b = append(b, orStar(s.Owner)...)
	b = append(b, ' ')
	return append(b, orStar(s.Group)...)
}

func orStar(s string) string {
	if s == "" {
		return "*"
	}
	return s
}

// ParseStat decodes a stat answer or line; the fields after mtime may be absent.
func ParseStat(body []byte) (StatInfo, error) {
	text := cString(body)
	f := strings.Fields(text)
	if len(f) < 4 {
		return StatInfo{}, fail(InvalidRequest, "stat line %.80q has %d fields, needs 4", text, len(f))
	}
	var s StatInfo
	var errs [6]error
	s.ID, errs[0] = strconv.ParseUint(f[0], 10, 64)
	s.Size, errs[1] = strconv.ParseInt(f[1], 10, 64)
	flags, err := strconv.ParseUint(f[2], 10, 32)
	s.Flags, errs[2] = uint32(flags), err
	s.Mtime, errs[3] = strconv.ParseInt(f[3], 10, 64)
	if len(f) >= 9 {
		s.Ctime, errs[4] = strconv.ParseInt(f[4], 10, 64)
		s.Atime, errs[5] = strconv.ParseInt(f[5], 10, 64)
		if mode, err := strconv.ParseUint(f[6], 8, 16); err == nil {
			s.Mode = uint32(mode)
		}
		s.Owner, s.Group = f[7], f[8]
	}
	for _, err := range errs {
		if err != nil {
			return StatInfo{}, fail(InvalidRequest, "stat line %.80q: %v", text, err)
		}
	}
	return s, nil
}

// SpaceInfo is the answer to kXR_stat with StatVFS; free room is in MiB, use in percent.
type SpaceInfo struct {
	NodesRW, FreeRW, UseRW          int64
	NodesStage, FreeStage, UseStage int64
}

// Append encodes the body.
func (s SpaceInfo) Append(b []byte) []byte {
	for i, v := range [...]int64{s.NodesRW, s.FreeRW, s.UseRW, s.NodesStage, s.FreeStage, s.UseStage} {
		if i > 0 {
			b = append(b, ' ')
		}
		b = strconv.AppendInt(b, v, 10)
	}
	return append(b, 0)
}
