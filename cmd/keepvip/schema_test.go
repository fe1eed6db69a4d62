package main

import (
	"encoding"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/keepvip/keepvip/internal/node/daemon"
	"github.com/keepvip/keepvip/internal/node/follower"
)

// printed are the types of what commands print with --output json. A new kind has a line here, and `make golden` writes its schema.
func printed() map[kind]any {
	return map[kind]any{
		kindStatus:      daemon.Status{},
		kindExplanation: explanationDoc{},
		kindCodes:       codesDoc{},
		kindHistory:     daemon.History{},
		kindReload:      daemon.Reloaded{},
		kindMembers:     daemon.RaftStatus{},
		kindVersion:     versionDoc{},
		kindFingerprint: fingerprintDoc{},
		kindLint:        lintDoc{},
		kindConversion:  conversionDoc{},
		kindDoctor:      doctorDoc{},
		kindDrill:       drillDoc{},
		kindCleanup:     cleanupDoc{},
		kindSpread:      spreadDoc{},
		kindEndpoints:   endpointsDoc{},
		kindFollower:    follower.Status{},

		kindConfirmation:  confirmationDoc{},
		kindConfiguration: configurationDoc{},
		kindValidation:    validationDoc{},
		kindChecks:        checksDoc{},
		kindRunning:       daemon.RunningConfig{},
		kindNoStatus:      noStatusDoc{},
	}
}

// schemaNode is the part of JSON Schema that the schemas use.
type schemaNode struct {
	Schema      string                 `json:"$schema,omitempty"`
	Title       string                 `json:"title,omitempty"`
	Description string                 `json:"description,omitempty"`
	Const       string                 `json:"const,omitempty"`
	Type        jsonTypes              `json:"type,omitempty"` // nothing: whatever it is
	Format      string                 `json:"format,omitempty"`
	Minimum     *int                   `json:"minimum,omitempty"`
	Properties  map[string]*schemaNode `json:"properties,omitempty"`
	Required    []string               `json:"required,omitempty"`
	Additional  *schemaNode            `json:"additionalProperties,omitempty"` // of a map's values; of an object keys that are not named may come
	Items       *schemaNode            `json:"items,omitempty"`
}

// jsonTypes are names of JSON's types; one alone is no list.
type jsonTypes []string

func (j jsonTypes) MarshalJSON() ([]byte, error) {
	if len(j) == 1 {
		return json.Marshal(j[0])
	}
	return json.Marshal([]string(j))
}

func (j *jsonTypes) UnmarshalJSON(text []byte) error {
	var one string
	if err := json.Unmarshal(text, &one); err == nil {
		*j = jsonTypes{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(j))
}

// The schemas in docs/schema are those of what the commands print; make golden writes them.
func TestSchemasOfPrintedObjectsAreInForce(t *testing.T) {
	const dir = "../../docs/schema"
	comments := comments{files: map[string]map[string]string{}}
	want := map[string]string{}
	for k, doc := range printed() {
		s := comments.object(t, reflect.TypeOf(doc))
		s.Schema, s.Title = "https://json-schema.org/draft/2020-12/schema", string(k)
		s.Properties["apiVersion"] = &schemaNode{Const: apiVersion}
		s.Properties["kind"] = &schemaNode{Const: string(k)}
		s.Required = append([]string{"apiVersion", "kind"}, s.Required...)
		text, err := json.MarshalIndent(s, "", "  ")
		require.NoError(t, err)
		want[string(k)+".json"] = string(text) + "\n"
	}
	if os.Getenv("UPDATE_GOLDEN") != "" {
		for name, text := range want {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644))
		}
	}
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Len(t, files, len(want), "a file for each kind")
	for name, text := range want {
		have, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err, "write it with make golden")
		assert.Equal(t, string(have), text, "%s: regenerate with make golden and review the difference", name)
	}
}

// Within an apiVersion keys are added: what a schema of today refuses, a validator refuses of tomorrow's keepvip.
func TestSchemasLetKeysOfLaterVersionsThrough(t *testing.T) {
	files, err := filepath.Glob("../../docs/schema/*.json")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		assert.NotRegexp(t, `"(additionalProperties|unevaluatedProperties)": false`, string(text), file)
	}
}

// printsObject is the object of that kind that a command has printed, which its schema describes.
func printsObject(t *testing.T, k kind, out string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs/schema", string(k)+".json"))
	require.NoError(t, err)
	var s schemaNode
	require.NoError(t, json.Unmarshal(text, &s))
	var got any
	require.NoError(t, json.Unmarshal([]byte(out), &got), out)
	assert.Empty(t, s.violations(string(k), got))
	doc, ok := got.(map[string]any)
	require.True(t, ok)
	return doc
}

// violations says what of a value is not as the schema says, and which keys it does not name: this program has none of these.
func (s *schemaNode) violations(at string, v any) (out []string) {
	if s.Const != "" && v != s.Const {
		out = append(out, fmt.Sprintf("%s: %v, want %q", at, v, s.Const))
	}
	if len(s.Type) > 0 && !slices.ContainsFunc(typesOf(v), func(t string) bool { return slices.Contains(s.Type, t) }) {
		return append(out, fmt.Sprintf("%s: %v, want %v", at, v, s.Type))
	}
	switch v := v.(type) {
	case string:
		if _, err := time.Parse(time.RFC3339, v); s.Format == "date-time" && (err != nil || !strings.HasSuffix(v, "Z")) {
			out = append(out, fmt.Sprintf("%s: %q, want a time in UTC", at, v))
		}
	case []any:
		for i, item := range v {
			if s.Items != nil {
				out = append(out, s.Items.violations(fmt.Sprintf("%s[%d]", at, i), item)...)
			}
		}
	case map[string]any:
		out = append(out, s.violationsOfObject(at, v)...)
	}
	return out
}

func (s *schemaNode) violationsOfObject(at string, v map[string]any) (out []string) {
	for _, name := range s.Required {
		if _, there := v[name]; !there {
			out = append(out, fmt.Sprintf("%s.%s is missing", at, name))
		}
	}
	for name, value := range v {
		of := s.Properties[name]
		if of == nil {
			of = s.Additional
		}
		switch {
		case of != nil:
			out = append(out, of.violations(at+"."+name, value)...)
		case s.Properties != nil:
			out = append(out, fmt.Sprintf("%s.%s is not in the schema", at, name))
		}
	}
	return out
}

func typesOf(v any) []string {
	switch v := v.(type) {
	case nil:
		return []string{"null"}
	case bool:
		return []string{"boolean"}
	case string:
		return []string{"string"}
	case float64:
		if v == float64(int64(v)) {
			return []string{"number", "integer"}
		}
		return []string{"number"}
	case []any:
		return []string{"array"}
	}
	return []string{"object"}
}

// comments finds what is said behind the fields of structs.
type comments struct {
	files map[string]map[string]string // by package, by type and field
}

var (
	textType = reflect.TypeFor[encoding.TextMarshaler]()
	timeType = reflect.TypeFor[time.Time]()
)

// of is the schema of a type. A time.Duration has none: its unit belongs into the key, as in latencySeconds.
func (c comments) of(t *testing.T, typ reflect.Type) *schemaNode {
	zero := 0
	switch {
	case typ == reflect.TypeFor[time.Duration]():
		require.Fail(t, "a time.Duration is printed: want a number of seconds, and Seconds at the end of the key")
	case typ == reflect.TypeFor[json.RawMessage]() || typ.Kind() == reflect.Interface:
		return &schemaNode{}
	case typ.Kind() == reflect.Pointer:
		return c.of(t, typ.Elem())
	case typ == timeType:
		return &schemaNode{Type: []string{"string"}, Format: "date-time"}
	case typ.Implements(textType):
		return &schemaNode{Type: []string{"string"}}
	}
	switch typ.Kind() {
	case reflect.Bool:
		return &schemaNode{Type: []string{"boolean"}}
	case reflect.String:
		return &schemaNode{Type: []string{"string"}}
	case reflect.Float64:
		return &schemaNode{Type: []string{"number"}}
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &schemaNode{Type: []string{"integer"}}
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &schemaNode{Type: []string{"integer"}, Minimum: &zero}
	case reflect.Slice:
		return &schemaNode{Type: []string{"array"}, Items: c.of(t, typ.Elem())}
	case reflect.Map:
		return &schemaNode{Type: []string{"object", "null"}, Additional: c.of(t, typ.Elem())}
	case reflect.Struct:
		return c.object(t, typ)
	}
	require.Fail(t, "a type without a schema", typ)
	return nil
}

func (c comments) object(t *testing.T, typ reflect.Type) *schemaNode {
	s := &schemaNode{Type: []string{"object"}, Properties: map[string]*schemaNode{}, Required: []string{}}
	for f := range typ.Fields() {
		tag, tagged := f.Tag.Lookup("json")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Anonymous && !tagged:
			part := c.object(t, f.Type)
			maps.Copy(s.Properties, part.Properties)
			s.Required = append(s.Required, part.Required...)
			continue
		case !f.IsExported() || name == "-":
			continue
		}
		require.True(t, tagged, "%v.%s has no name in JSON", typ, f.Name)
		of := c.of(t, f.Type)
		of.Description = c.comment(t, typ, f.Name)
		s.Properties[name] = of
		if !strings.Contains(options, "omitempty") && !strings.Contains(options, "omitzero") {
			s.Required = append(s.Required, name)
		}
	}
	return s
}

// comment is what is said behind, or else above, a field of a type of ours.
func (c comments) comment(t *testing.T, typ reflect.Type, field string) string {
	const module = "github.com/keepvip/keepvip/"
	dir, ours := strings.CutPrefix(typ.PkgPath(), module)
	if typ.PkgPath() == "main" || strings.HasSuffix(typ.PkgPath(), "/cmd/keepvip") {
		dir, ours = "cmd/keepvip", true
	}
	if !ours {
		return ""
	}
	if c.files[dir] == nil {
		c.files[dir] = map[string]string{}
		paths, err := filepath.Glob(filepath.Join("../..", dir, "*.go"))
		require.NoError(t, err)
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			require.NoError(t, err)
			c.read(dir, file)
		}
	}
	return c.files[dir][typ.Name()+"."+field]
}

func (c comments) read(dir string, file *ast.File) {
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.TypeSpec)
		if !ok {
			return true
		}
		if of, ok := spec.Type.(*ast.StructType); ok {
			for _, f := range of.Fields.List {
				for _, name := range f.Names {
					text := f.Comment.Text()
					if text == "" {
						text = f.Doc.Text()
					}
					c.files[dir][spec.Name.Name+"."+name.Name] = strings.Join(strings.Fields(text), " ")
				}
			}
		}
		return true
	})
}
