package yamledit

import (
	"maps"
	"reflect"

	"go.yaml.in/yaml/v3"
)

// change lets edit do its work, and takes it back unless the new text says the same as the old with want at the path.
func (e *Editor) change(doc int, path []string, want func(old any) any, edit func() error) error {
	before := e.text
	expected, err := e.values()
	if err != nil {
		return err
	}
	if err := edit(); err != nil {
		e.text = before
		return err
	}
	got, err := e.values()
	if err == nil {
		expected[doc], err = replaceAt(expected[doc], path, want)
	}
	if err != nil || !reflect.DeepEqual(expected, got) {
		e.text = before
		return e.Errorf(0, "%s cannot be changed without disturbing the rest, want it in plain block style", Whole(path))
	}
	return nil
}

// values is what the documents say.
func (e *Editor) values() ([]any, error) {
	docs, err := e.Documents()
	if err != nil {
		return nil, err
	}
	out := make([]any, len(docs))
	for i, d := range docs {
		if err := d.Decode(&out[i]); err != nil {
			return nil, e.Errorf(0, "not valid YAML: %s", oneLine(err))
		}
	}
	return out, nil
}

// replaceAt is a document with another value at a path.
func replaceAt(doc any, path []string, want func(any) any) (any, error) {
	if len(path) == 0 {
		return plain(want(doc))
	}
	if old, ok := doc.(map[any]any); ok { // one of its keys is no text
		return replaceKey(old, path, want)
	}
	old, _ := doc.(map[string]any)
	return replaceKey(old, path, want)
}

func replaceKey[K comparable](old map[K]any, path []string, want func(any) any) (any, error) {
	out := map[K]any{}
	maps.Copy(out, old)
	key, _ := any(path[0]).(K) // both kinds of key can be text
	v, err := replaceAt(old[key], path[1:], want)
	out[key] = v
	return out, err
}

// plain is a value as it is read back.
func plain(v any) (out any, err error) {
	text, err := yaml.Marshal(v)
	if err != nil {
		return nil, err
	}
	return out, yaml.Unmarshal(text, &out)
}
