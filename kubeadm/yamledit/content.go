package yamledit

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// encodings are cloud-init's words, which Cluster API shares.
var encodings = []string{"b64", "base64", "gz", "gzip", "gz+b64", "gz+base64", "gzip+b64", "gzip+base64"}

// maxContent bounds what a compressed text may become.
const maxContent = 1 << 20

// ContentAt is the content of a file in a list of cloud-init or Cluster API, decoded where its entry says how; encoded tells whether it does.
// What cannot be decoded, or is not known, is "".
func ContentAt(file *yaml.Node) (text string, encoded bool) {
	text = TextAt(file, "content")
	encoding := strings.ToLower(TextAt(file, "encoding"))
	if encoding == "" || encoding == "text/plain" {
		return text, false
	}
	if !slices.Contains(encodings, encoding) {
		return "", true
	}
	// Text that is gzip alone is !!binary, whose base64 is YAML's own.
	data, err := base64.StdEncoding.DecodeString(strings.Join(strings.Fields(text), ""))
	if err != nil {
		return "", true
	}
	if strings.HasPrefix(encoding, "gz") {
		return unzipped(data), true
	}
	return string(data), true
}

func unzipped(data []byte) string {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return ""
	}
	text, err := io.ReadAll(io.LimitReader(r, maxContent+1))
	if err != nil || len(text) > maxContent {
		return ""
	}
	return string(text)
}
