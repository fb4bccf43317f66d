package adminapi

import (
	"encoding/hex"
	"reflect"
	"strings"
	"unicode/utf8"
)

// Names are bytes, and JSON has room for characters only: what is not UTF-8 would arrive as another
// name. So each such byte travels as U+0000 and its two hexadecimal digits. No name has a zero byte.
const byteMark = "\x00"

// spell writes a text in characters.
// A text that needs no spelling is returned as it is, without a copy: nearly all are. A zero byte is spelt too, so
// that unspell can tell it from a mark.
func spell(s string) string {
	if utf8.ValidString(s) && !strings.Contains(s, byteMark) {
		return s
	}
	var b strings.Builder
	for rest := s; rest != ""; {
		r, size := utf8.DecodeRuneInString(rest)
		if r == utf8.RuneError && size == 1 || rest[:size] == byteMark {
			b.WriteString(byteMark + hex.EncodeToString([]byte{rest[0]}))
		} else {
			b.WriteString(rest[:size])
		}
		rest = rest[size:]
	}
	return b.String()
}

// unspell reverses spell. A mark that no digits follow stays.
// Only a program other than ours can send such a mark.
func unspell(s string) string {
	parts := strings.Split(s, byteMark)
	var b strings.Builder
	b.WriteString(parts[0])
	for _, part := range parts[1:] {
		if len(part) >= 2 {
			if one, err := hex.DecodeString(part[:2]); err == nil {
				b.Write(one)
				b.WriteString(part[2:])
				continue
			}
		}
		b.WriteString(byteMark + part)
	}
	return b.String()
}

// mapped returns a copy of a message in which each text went through f. It does not change what the two share.
// It walks exported fields only, because encoding/json sends no others. Byte slices are data, not texts: JSON has
// them as base64. Arrays, numbers and times (a struct without exported fields) are copied as they are.
func mapped(v reflect.Value, f func(string) string) reflect.Value {
	out := reflect.New(v.Type()).Elem()
	out.Set(v)
	switch v.Kind() {
	case reflect.String:
		out.SetString(f(v.String()))
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				out.Field(i).Set(mapped(v.Field(i), f))
			}
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			break
		}
		below := mapped(v.Elem(), f)
		if v.Kind() == reflect.Pointer {
			out.Set(reflect.New(below.Type()))
			out.Elem().Set(below)
		} else {
			out.Set(below)
		}
	case reflect.Slice:
		if v.IsNil() || v.Type().Elem().Kind() == reflect.Uint8 {
			break
		}
		out.Set(reflect.MakeSlice(v.Type(), v.Len(), v.Len()))
		for i := range v.Len() {
			out.Index(i).Set(mapped(v.Index(i), f))
		}
	case reflect.Map:
		if v.IsNil() {
			break
		}
		out.Set(reflect.MakeMap(v.Type()))
		for key, value := range v.Seq2() {
			out.SetMapIndex(mapped(key, f), mapped(value, f))
		}
	}
	return out
}
