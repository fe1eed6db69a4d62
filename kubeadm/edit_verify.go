package kubeadm

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// change lets edit do its work, and takes it back unless the new text says the same as the old with want at the path.
func (e *editor) change(doc int, path []string, want func(old any) any, edit func() error) error {
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
		return e.fail(0, "%s cannot be changed without disturbing the rest, want it in plain block style", whole(path))
	}
	return nil
}

// values is what the documents say.
func (e *editor) values() ([]any, error) {
	docs, err := e.documents()
	if err != nil {
		return nil, err
	}
	out := make([]any, len(docs))
	for i, d := range docs {
		if err := d.Decode(&out[i]); err != nil {
			return nil, e.fail(0, "not valid YAML: %s", oneLine(err))
		}
	}
	return out, nil
}

// replaceAt is a document with another value at a path.
func replaceAt(doc any, path []string, want func(any) any) (any, error) {
	if len(path) == 0 {
		return plainValue(want(doc))
	}
	old, _ := doc.(map[string]any)
	out := map[string]any{}
	for k, v := range old {
		out[k] = v
	}
	v, err := replaceAt(old[path[0]], path[1:], want)
	out[path[0]] = v
	return out, err
}

// plainValue is a value as it is read back.
func plainValue(v any) (out any, err error) {
	text, err := yaml.Marshal(v)
	if err != nil {
		return nil, err
	}
	return out, yaml.Unmarshal(text, &out)
}
