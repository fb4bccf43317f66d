package tool

import (
	"bytes"
	"encoding/json"
	"errors"

	"hemera/words/errs"
)

// beginningsMax bounds the places in an output that are tried as the beginning of a report: each may cost a pass over the output.
const beginningsMax = 64

// Report reads the first JSON object with the key in the output of a program into v. Text before and behind the object is passed over, and so
// is a second report. Numbers may have the decimal comma of a locale. What is not a number, such as -nan, counts as missing.
// NotFound if there is no such object, Invalid if it does not fit v.
func Report(out []byte, key string, v any) error {
	tried := 0
	for at := range out {
		if out[at] != '{' {
			continue
		}
		if tried++; tried > beginningsMax {
			break
		}
		object, ok := object(out[at:])
		var fields map[string]json.RawMessage
		if !ok || json.Unmarshal(object, &fields) != nil || fields[key] == nil {
			continue
		}
		if err := json.Unmarshal(object, v); err != nil {
			return errs.New(errs.Invalid, "tool.Report", key, err.Error())
		}
		return nil
	}
	return errs.New(errs.NotFound, "tool.Report", key, "the output has no report")
}

// object returns the object that a text begins with, with numbers as JSON has them. It is false for one without an end.
func object(text []byte) (clean []byte, ok bool) {
	var open []byte // brackets that are open
	for at := 0; at < len(text); at++ {
		switch c := text[at]; {
		case c == '"':
			end := at + 1
			for end < len(text) && text[end] != '"' {
				// A backslash and what it escapes.
				if text[end] == '\\' {
					end++
				}
				end++
			}
			if end >= len(text) {
				return nil, false
			}
			clean = append(clean, text[at:end+1]...)
			at = end
			continue
		case c == '{' || c == '[':
			open = append(open, c)
		case c == '}' || c == ']':
			open = open[:len(open)-1]
			if len(open) == 0 {
				return append(clean, c), true
			}
		// Behind a comma of an object comes a key: with digits at both sides it is the point of another locale.
		case c == ',' && open[len(open)-1] == '{' && at+1 < len(text) && isDigit(text[at-1]) && isDigit(text[at+1]):
			clean = append(clean, '.')
			continue
		default:
			if n := notANumber(text[at:]); n > 0 {
				clean = append(clean, "null"...)
				at += n - 1
				continue
			}
		}
		clean = append(clean, text[at])
	}
	return nil, false
}

// isDigit is true for 0 to 9.
func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// notANumber is the length of what printf writes of a value that is none at the beginning of a text, 0 if there is something else.
func notANumber(text []byte) int {
	sign := 0
	if len(text) > 0 && text[0] == '-' {
		sign = 1
	}
	const length = 3
	if len(text) >= sign+length {
		switch word := bytes.ToLower(text[sign : sign+length]); string(word) {
		case "nan", "inf":
			return sign + length
		}
	}
	return 0
}

// Kept adds to the error of a parser, which is Invalid, where the raw output of the program is. Other errors stay as they are.
func Kept(err error, raw string) error {
	var e *errs.Error
	if !errors.As(err, &e) || e.Kind != errs.Invalid {
		return err
	}
	return e.WithRemedy("what the program wrote is in " + raw + "; another version of it may write what is understood")
}
