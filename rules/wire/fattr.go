package wire

import "bytes"

// Fattr is kXR_fattr. Its payload is [FattrArgs].
type Fattr struct {
	Handle  Handle
	Subcode uint8
	Count   uint8
	Options uint8
}

// ID returns ReqFattr.
func (Fattr) ID() RequestID { return ReqFattr }

// Body encodes the fixed part.
func (r Fattr) Body() (p [16]byte) {
	copy(p[:4], r.Handle[:])
	p[4], p[5], p[6] = r.Subcode, r.Count, r.Options
	return p
}

// DecodeFattr reads the fixed part.
func DecodeFattr(p [16]byte) Fattr { return Fattr{Handle(p[:4]), p[4], p[5], p[6]} }

// FattrArgs is the payload: the path ("" means the handle), the names, and for FattrSet their values.
type FattrArgs struct {
	Path   string // may carry an opaque part
	Names  []string
	Values [][]byte
}

// Append encodes the payload.
func (a FattrArgs) Append(b []byte) []byte {
	b = append(append(b, a.Path...), 0)
	for _, n := range a.Names {
		b = append(append(append(b, 0, 0), n...), 0)
	}
	for _, v := range a.Values {
		b = be.AppendUint32(b, uint32(len(v)))
		b = append(b, v...)
	}
	return b
}

// ParseFattrArgs decodes the payload of the request. Values alias it.
func ParseFattrArgs(r Fattr, payload []byte) (FattrArgs, error) {
	var a FattrArgs
	switch {
	case r.Subcode > FattrSet:
		return a, fail(ArgInvalid, "attribute operation %d is not known", r.Subcode)
	case r.Count > FattrMaxNames:
		return a, fail(ArgTooLong, "%d attributes in one request, the limit is %d", r.Count, FattrMaxNames)
	case r.Count == 0 && r.Subcode != FattrList:
		return a, fail(ArgMissing, "no attribute named")
	}
	end := bytes.IndexByte(payload, 0)
	if end < 0 {
		end = len(payload)
		if r.Subcode != FattrList {
			return a, fail(ArgMissing, "attribute names are missing after the path")
		}
	}
	a.Path = string(payload[:end])
	rest := payload[min(end+1, len(payload)):]
	if r.Subcode == FattrList {
		return a, nil
	}
	for range r.Count {
		name, tail, err := fattrName(rest)
		if err != nil {
			return a, err
		}
		a.Names, rest = append(a.Names, name), tail
	}
	if r.Subcode == FattrSet {
		for range r.Count {
			value, tail, err := fattrValue(rest)
			if err != nil {
				return a, err
			}
			a.Values, rest = append(a.Values, value), tail
		}
	}
	if len(rest) > 0 {
		return a, fail(ArgInvalid, "%d bytes after the last attribute", len(rest))
	}
	return a, nil
}

func fattrName(b []byte) (name string, rest []byte, err error) {
	if len(b) < 4 || b[0] != 0 || b[1] != 0 {
		return "", nil, fail(ArgInvalid, "attribute name is malformed")
	}
	end := bytes.IndexByte(b[2:], 0)
	switch {
	case end < 0:
		return "", nil, fail(ArgInvalid, "attribute name has no end")
	case end == 0:
		return "", nil, fail(ArgInvalid, "attribute name is empty")
	case end > FattrMaxName:
		return "", nil, fail(ArgTooLong, "attribute name of %d bytes, the limit is %d", end, FattrMaxName)
	}
	return string(b[2 : 2+end]), b[3+end:], nil
}

func fattrValue(b []byte) (value, rest []byte, err error) {
	if len(b) < 4 {
		return nil, nil, fail(ArgMissing, "attribute value is missing")
	}
	n := int32(be.Uint32(b))
	switch {
	case n < 0 || int(n) > len(b)-4:
		return nil, nil, fail(ArgInvalid, "attribute value of %d bytes, %d were sent", n, len(b)-4)
	case n > FattrMaxValue:
		return nil, nil, fail(ArgTooLong, "attribute value of %d bytes, the limit is %d", n, FattrMaxValue)
	}
	return b[4 : 4+n], b[4+n:], nil
}

// FattrResult is the result for one name; a Code of zero is success.
type FattrResult struct {
	Code  Code
	Name  string
	Value []byte // FattrGet only
}

// AppendFattrResults encodes the answer to get (values), set and del.
func AppendFattrResults(b []byte, results []FattrResult, values bool) []byte {
	failed := 0
	for _, r := range results {
		if r.Code != 0 {
			failed++
		}
	}
	b = append(b, byte(failed), byte(len(results)))
	for _, r := range results {
		b = be.AppendUint16(b, uint16(r.Code))
		b = append(append(b, r.Name...), 0)
	}
	if !values {
		return b
	}
	for _, r := range results {
		b = be.AppendUint32(b, uint32(len(r.Value)))
		b = append(b, r.Value...)
	}
	return b
}

// ParseFattrResults decodes the answer to get (values), set and del. Values alias b.
func ParseFattrResults(b []byte, values bool) ([]FattrResult, error) {
	bad := fail(InvalidRequest, "attribute answer is malformed")
	if len(b) < 2 {
		return nil, bad
	}
	results := make([]FattrResult, b[1])
	b = b[2:]
	for i := range results {
		if len(b) < 3 {
			return nil, bad
		}
		end := bytes.IndexByte(b[2:], 0)
		if end < 0 {
			return nil, bad
		}
		results[i] = FattrResult{Code: Code(be.Uint16(b)), Name: string(b[2 : 2+end])}
		b = b[3+end:]
	}
	if !values {
		return results, nil
	}
	for i := range results {
		var err error
		if results[i].Value, b, err = fattrValue(b); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// AppendFattrList encodes the answer to FattrList: names, each with its value if values is set.
func AppendFattrList(b []byte, list []FattrResult, values bool) []byte {
	for _, r := range list {
		b = append(append(b, r.Name...), 0)
		if values {
			b = be.AppendUint32(b, uint32(len(r.Value)))
			b = append(b, r.Value...)
		}
	}
	return b
}

// ParseFattrList decodes the answer to FattrList. Values alias b.
func ParseFattrList(b []byte, values bool) ([]FattrResult, error) {
	var list []FattrResult
	for len(b) > 0 {
		end := bytes.IndexByte(b, 0)
		if end < 0 {
			return nil, fail(InvalidRequest, "attribute list is malformed")
		}
		r := FattrResult{Name: string(b[:end])}
		b = b[end+1:]
		if values {
			var err error
			if r.Value, b, err = fattrValue(b); err != nil {
				return nil, err
			}
		}
		list = append(list, r)
	}
	return list, nil
}
