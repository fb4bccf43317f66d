package output

import (
	"encoding/json"
	"fmt"
	"strings"
)

// object is a JSON object that keeps the order of its keys.
type object struct {
	keys   []string
	values map[string]any // string, bool, number, *object or []Record
}

// nest converts the dots of a record's keys to objects. If a key is also the beginning of a later one, the later one
// keeps its dot: "a" and "a.b" are beside each other, as in EOS. Keys come from this program, never from users, so the
// depth is small.
func nest(r Record) *object {
	top := &object{values: map[string]any{}}
	for _, f := range r {
		at := top
		parts := strings.Split(f.Key, ".")
		for len(parts) > 1 {
			part := parts[0]
			value, taken := at.values[part]
			below, ok := value.(*object)
			if taken && !ok {
				break
			}
			if !ok {
				below = &object{values: map[string]any{}}
				at.put(part, below)
			}
			at, parts = below, parts[1:]
		}
		at.put(strings.Join(parts, "."), f.Value)
	}
	return top
}

// put sets a key of an object, in the order of the calls. A record has each key once.
func (o *object) put(key string, value any) {
	// A mistake of the programmer: readers interpret two equal keys in JSON differently.
	if _, twice := o.values[key]; twice {
		panic(fmt.Sprintf("output: key %q is there twice, or after one that it begins", key))
	}
	o.keys = append(o.keys, key)
	o.values[key] = value
}

// text returns the object as JSON on one line.
func (o *object) text() string {
	parts := make([]string, len(o.keys))
	for i, k := range o.keys {
		switch v := o.values[k].(type) {
		case *object:
			parts[i] = quote(k) + ":" + v.text()
		case []Record:
			items := make([]string, len(v))
			for j, r := range v {
				items[j] = nest(r).text()
			}
			parts[i] = quote(k) + ":[" + strings.Join(items, ",") + "]"
		default:
			parts[i] = quote(k) + ":" + scalar(v)
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}

// scalar returns a value in JSON. Types of our own, such as a checksum kind, become their text. NaN and infinities have
// no form in JSON and become strings.
func scalar(v any) string {
	switch v.(type) {
	case nil, bool, int, int32, int64, uint8, uint32, uint64, float64:
		text, err := json.Marshal(v)
		if err == nil {
			return string(text)
		}
	}
	return quote(plain(v))
}
