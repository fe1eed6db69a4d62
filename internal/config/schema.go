package config

import (
	"encoding/json"
	"maps"
)

// Schema is the file's JSON schema (draft 2020-12), for editors. It says less than [Load]: ranges that depend on other
// values are not in it.
func Schema() []byte {
	s := sections().schema()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "keepvip configuration"
	s["required"] = []string{"apiVersion", "kind"}
	properties := s["properties"].(map[string]any)
	properties["apiVersion"] = map[string]any{"const": apiVersion}
	properties["kind"] = map[string]any{"const": fileKind}
	out, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		panic("config: schema: " + err.Error()) // maps, strings and numbers only
	}
	return append(out, '\n')
}

func (s *section) schema() map[string]any {
	if s.option != nil {
		return s.option.describe()
	}
	properties := map[string]any{}
	for _, c := range s.children {
		properties[c.name] = c.schema()
	}
	object := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	switch {
	case s.list:
		return map[string]any{"type": "array", "items": object}
	case s.short != nil:
		return map[string]any{"oneOf": []any{object, s.short.describe()}}
	}
	return object
}

// describe is one leaf: its type with help and default.
func (o *Option) describe() map[string]any {
	leaf := map[string]any{"description": o.Help}
	maps.Copy(leaf, o.schema)
	switch {
	case o.Default == "":
	case o.tags[0] == tagString:
		leaf["default"] = o.Default
	default:
		leaf["default"] = json.RawMessage(o.Default)
	}
	return leaf
}
