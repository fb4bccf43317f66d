package admin

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"hemera/platform/rpc"
)

// codec is JSON for plain Go structs, in place of Connect's, which takes protobuf messages only.
// Rejected: protobuf messages, which would need a generator and a second set of types beside those of package
// hemera.
type codec struct {
	// strict refuses unknown fields: right for requests, where one is a typing error, wrong for
	// answers, which a newer server may have added to.
	strict bool
}

// Name makes the codec answer to application/json and application/connect+json.
func (codec) Name() string { return "json" }

// Marshal implements connect.Codec. Texts that are not UTF-8 are spelt (see byteMark); the encoder writes
// what it could not take as an escape, which is how they are noticed.
// Spelling copies the whole message by reflection; it happens only when the encoder has met such a text.
func (codec) Marshal(message any) ([]byte, error) {
	message = rpc.Opened(message)
	data, err := json.Marshal(message)
	if err != nil || !bytes.Contains(data, []byte(`\ufffd`)) && !bytes.Contains(data, []byte(`\u0000`)) {
		return data, err
	}
	return json.Marshal(mapped(reflect.ValueOf(message), spell).Interface())
}

// Unmarshal implements connect.Codec. An empty body is an empty object.
// Its errors reach the client with the code InvalidArgument. Bytes after the object are an error, so that two requests
// that were joined by mistake do not pass as one.
func (c codec) Unmarshal(data []byte, message any) error {
	message = rpc.Opened(message)
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	if c.strict {
		d.DisallowUnknownFields()
	}
	if err := d.Decode(message); err != nil {
		return err
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("the body has more than one JSON object")
	}
	if bytes.Contains(data, []byte(`\u0000`)) {
		v := reflect.ValueOf(message).Elem()
		v.Set(mapped(v, unspell))
	}
	return nil
}
