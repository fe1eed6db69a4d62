package chart

import (
	"encoding/xml"
	"fmt"
	"strings"
)

// Style follows the reader's choice of light or dark.
const Style = `<style>
 .b{fill:#fff}.t{fill:#1f2328;font:14px sans-serif}.s{fill:#59636e;font:12px sans-serif}.h{font-weight:bold}
 .g{fill:#1a7f37}.r{fill:#d1242f}.a{stroke:#0969da;stroke-width:2}.l{stroke:#d1d9e0}.f{stroke:#d1242f;stroke-dasharray:4 3}.o{fill:#eff2f5}
 .w{fill:#fff;font:12px sans-serif}
 @media (prefers-color-scheme:dark){.b{fill:#0d1117}.t{fill:#f0f6fc}.s{fill:#9198a1}.a{stroke:#4493f8}.l{stroke:#3d444d}.o{fill:#212830}.g{fill:#238636}.r{fill:#da3633}}
</style>
`

// Begin opens a picture of that size, which alt says in words to whoever does not see it.
func Begin(b *strings.Builder, width, height int, alt, title string) {
	fmt.Fprintf(b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"%s\">\n<title>%s</title>\n%s",
		width, height, escaped(alt), escaped(title), Style)
	fmt.Fprintf(b, "<rect class=\"b\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", width, height)
}

// Text writes words at a place, which is their start, middle or end.
func Text(b *strings.Builder, class string, x float64, y int, anchor, words string) {
	fmt.Fprintf(b, "<text class=\"%s\" x=\"%g\" y=\"%d\" text-anchor=\"%s\">%s</text>\n", class, x, y, anchor, escaped(words))
}

func escaped(words string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(words)) // a strings.Builder has no error
	return b.String()
}
