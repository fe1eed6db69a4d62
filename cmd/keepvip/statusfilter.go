package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/keepvip/keepvip/internal/node/control"
	"github.com/keepvip/keepvip/internal/node/daemon"
)

// askStatus asks for the status of the named virtual addresses, or of all: as it came, and as this program understands it.
func askStatus(ctx context.Context, socket string, names []string) (raw json.RawMessage, doc daemon.Status, err error) {
	if err = control.NewClient(socket).Status(ctx, &raw); err != nil {
		return nil, doc, err
	}
	if raw, err = only(raw, names); err != nil {
		return nil, doc, err
	}
	if err = json.Unmarshal(raw, &doc); err != nil {
		return nil, doc, fmt.Errorf("decode the status: %w", err)
	}
	return raw, doc, nil
}

// errNotThere is that of a name that the configuration in force does not have. The name follows, and those that there are.
var errNotThere = errors.New("no virtual address is named")

// only leaves the named virtual addresses in a status document, and everything else as it is, also what a keepvip of another
// version says. Without names nothing changes.
func only(doc json.RawMessage, names []string) (json.RawMessage, error) {
	if len(names) == 0 {
		return doc, nil
	}
	all := map[string]json.RawMessage{}
	var vips, keep []json.RawMessage
	if err := json.Unmarshal(doc, &all); err != nil {
		return nil, fmt.Errorf("decode the status: %w", err)
	}
	if err := json.Unmarshal(all["vips"], &vips); err != nil {
		return nil, fmt.Errorf("decode the status: %w", err)
	}
	var have []string
	for _, raw := range vips {
		var vip struct {
			Name string `json:"name"`
		}
		if err := json.Unmarshal(raw, &vip); err != nil {
			return nil, fmt.Errorf("decode the status: %w", err)
		}
		have = append(have, vip.Name)
		if slices.Contains(names, vip.Name) {
			keep = append(keep, raw)
		}
	}
	for _, name := range names {
		if !slices.Contains(have, name) {
			return nil, fmt.Errorf("%w %q, there are: %s", errNotThere, name, strings.Join(have, ", "))
		}
	}
	var err error
	if all["vips"], err = json.Marshal(keep); err != nil {
		return nil, fmt.Errorf("encode the status: %w", err)
	}
	return json.Marshal(all)
}
