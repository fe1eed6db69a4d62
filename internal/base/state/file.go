package state

import (
	"bytes"
	"encoding/json"
	"fmt"
)

const (
	// format is the version of the file.
	format = 1
	// most is more than the file ever needs, in bytes.
	most     = 1 << 20
	dirMode  = 0o750
	fileMode = 0o600
)

const remedy = "restore it, or remove it to let this node take part"

// document is what the file holds.
type document struct {
	Version int             `json:"version"`
	Held    map[string]Hold `json:"held"`
}

// parse takes no more for granted than that b is what [Load] returned.
func parse(b []byte) (map[string]Hold, error) {
	held := map[string]Hold{}
	if b == nil {
		return held, nil
	}
	if len(b) > most {
		return nil, fmt.Errorf("more than %d bytes; %s", most, remedy)
	}
	var v struct {
		Version *int `json:"version"`
	}
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, fmt.Errorf("%w; %s", err, remedy)
	}
	if v.Version == nil || *v.Version != format {
		return nil, fmt.Errorf("version %s, want %d: another release wrote it; run that one, or %s", versionText(v.Version), format, remedy)
	}
	d := document{Held: held}
	dec := json.NewDecoder(bytes.NewReader(b))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&d); err != nil {
		return nil, fmt.Errorf("%w; %s", err, remedy)
	}
	if d.Held == nil {
		return nil, fmt.Errorf("held null, want an object; %s", remedy)
	}
	return d.Held, nil
}

func versionText(v *int) string {
	if v == nil {
		return "missing"
	}
	return fmt.Sprint(*v)
}

func encode(held map[string]Hold) []byte {
	b, _ := json.MarshalIndent(document{Version: format, Held: held}, "", "  ") // never fails for these types
	return append(b, '\n')
}
