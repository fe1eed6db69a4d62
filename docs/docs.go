// Package docs has the pages that the program itself shows, and tests that keep all of them true.
package docs

import _ "embed"

// Troubleshooting is the page of the codes.
//
//go:embed troubleshooting.md
var Troubleshooting string
