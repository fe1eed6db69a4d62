package yamledit

import (
	"bytes"
	"encoding/json"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Marshal writes v as Kubernetes' tools do: with the names of its JSON tags, keys in the order of the alphabet, and lists not indented.
func Marshal(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("yamledit: %w", err)
	}
	var plain any // JSON is YAML, whose integers remain integers
	if err := yaml.Unmarshal(text, &plain); err != nil {
		return nil, fmt.Errorf("yamledit: %w", err)
	}
	var out bytes.Buffer
	e := yaml.NewEncoder(&out)
	e.SetIndent(2)
	e.CompactSeqIndent()
	if err := e.Encode(plain); err != nil {
		return nil, fmt.Errorf("yamledit: %w", err)
	}
	return out.Bytes(), nil
}
