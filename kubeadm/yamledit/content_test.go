package yamledit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
)

func zipped(t *testing.T, text string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write([]byte(text))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return base64.StdEncoding.EncodeToString(b.Bytes())
}

func TestContentAt(t *testing.T) {
	b64 := base64.StdEncoding.EncodeToString([]byte("kind: Pod\n"))
	tests := []struct {
		name, give, want string
		encoded          bool
	}{
		{"plain", "content: hello", "hello", false},
		{"said to be plain", "encoding: text/plain\ncontent: hello", "hello", false},
		{"base64", "encoding: b64\ncontent: " + b64, "kind: Pod\n", true},
		{"base64 on several lines", "encoding: base64\ncontent: |\n  " + b64[:4] + "\n  " + b64[4:] + "\n", "kind: Pod\n", true},
		{"gzip of YAML's own binary", "encoding: gzip\ncontent: !!binary " + zipped(t, "a"), "a", true},
		{"gzip and base64, of Cluster API", "encoding: gzip+base64\ncontent: " + zipped(t, "a"), "a", true},
		{"too much", "encoding: gz+b64\ncontent: " + zipped(t, strings.Repeat("a", maxContent+1)), "", true},
		{"no base64", "encoding: b64\ncontent: '%'", "", true},
		{"no gzip", "encoding: gz+b64\ncontent: " + b64, "", true},
		{"unknown", "encoding: rot13\ncontent: a", "", true},
		{"nothing", "path: /a", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var doc yaml.Node
			require.NoError(t, yaml.Unmarshal([]byte(tt.give), &doc))
			got, encoded := ContentAt(doc.Content[0])
			assert.Equal(t, tt.want, got)
			assert.Equal(t, tt.encoded, encoded)
		})
	}
}
