package chart

import (
	"encoding/xml"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bars are the figures of several under one heading.
type Bars struct {
	Heading string
	Bars    []Bar
}

// Bar is one figure, with the words that stand behind it.
type Bar struct {
	Name  string
	Value float64 // NaN: not measured, then only the words are drawn
	Words string
	Own   bool // drawn in the colour of what the picture is about
}

const (
	barHeight, barGap, headingHeight = 16, 6, 30
	barLeft, barRight                = 150, 170
)

// Horizontal draws the figures as bars on one logarithmic axis that begins at 1, so that milliseconds and half minutes fit side by side.
func Horizontal(title, axis string, groups []Bars) string {
	height, most := 56, 10.0
	for _, g := range groups {
		height += headingHeight + len(g.Bars)*(barHeight+barGap)
		for _, b := range g.Bars {
			if b.Value > most {
				most = b.Value
			}
		}
	}
	var b strings.Builder
	Begin(&b, width, height+20, title+", "+axis+".", title)
	Text(&b, "t h", margin, 30, "start", title)
	Text(&b, "s", width-margin, 30, "end", axis)
	y := 44
	for _, g := range groups {
		Text(&b, "s h", margin, y+20, "start", g.Heading)
		y += headingHeight
		for _, bar := range g.Bars {
			Text(&b, "s", barLeft-8, y+barHeight-4, "end", bar.Name)
			long := 0.0
			if !math.IsNaN(bar.Value) {
				long = math.Max(2, tenth(math.Log10(math.Max(bar.Value, 1))/math.Log10(most)*(width-barLeft-barRight)))
				class := "o"
				if bar.Own {
					class = "g"
				}
				fmt.Fprintf(&b, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%g\" height=\"%d\"/>\n", class, barLeft, y, long, barHeight)
			}
			Text(&b, "s", barLeft+long+6, y+barHeight-4, "start", bar.Words)
			y += barHeight + barGap
		}
	}
	b.WriteString("</svg>\n")
	return b.String()
}

// Curve is one figure at each count. A figure that was not measured is NaN.
type Curve struct {
	Name   string // with its unit
	Values []float64
}

// Places in a picture of curves, in its own units.
const (
	width, panelTop, panelHeight = 960, 64, 150
	margin, panelGap             = 24, 56
)

// Curves draws one panel for each curve, over the counts, which are at least two and grow, on an axis that is logarithmic. A dashed line is what the first
// figure would be if it grew as the count does: a curve below it grows less.
func Curves(title, of string, counts []int, curves []Curve) string {
	var b strings.Builder
	alt := fmt.Sprintf("%s, for %s to %s %s.", title, grouped(counts[0]), grouped(counts[len(counts)-1]), of)
	Begin(&b, width, panelTop+panelHeight+72, alt, title)
	Text(&b, "t h", margin, 30, "start", title)
	Text(&b, "s", width-margin, 30, "end", "dashed: growth that is linear from the first figure on")
	each := float64(width-2*margin-(len(curves)-1)*panelGap) / float64(len(curves))
	for i, c := range curves {
		p := panel{left: margin + float64(i)*(each+panelGap) + 24, width: each - 24, counts: counts}
		p.draw(&b, c, of)
	}
	b.WriteString("</svg>\n")
	return b.String()
}

type panel struct {
	left, width float64
	counts      []int
	most        float64
}

func (p *panel) draw(b *strings.Builder, c Curve, of string) {
	Text(b, "s h", p.left-24, panelTop-12, "start", c.Name)
	for _, v := range c.Values {
		if v > p.most {
			p.most = v
		}
	}
	if p.most == 0 {
		p.most = 1
	}
	bottom := panelTop + panelHeight
	for _, share := range []float64{0, 0.5, 1} {
		y := p.y(share * p.most)
		fmt.Fprintf(b, "<line class=\"l\" x1=\"%g\" x2=\"%g\" y1=\"%g\" y2=\"%g\"/>\n", tenth(p.left), tenth(p.left+p.width), y, y)
		Text(b, "s", tenth(p.left-4), int(y)+4, "end", short(share*p.most))
	}
	p.line(b, "f", p.linear(c.Values))
	p.line(b, "a", c.Values)
	for i, n := range p.counts {
		anchor := "middle"
		if i > 0 && i < len(p.counts)-1 && len(p.counts) > 3 {
			continue
		}
		Text(b, "s", p.x(n), bottom+18, anchor, grouped(n))
	}
	Text(b, "s", tenth(p.left+p.width/2), bottom+38, "middle", of)
}

// linear are the figures of a growth in proportion, as far as they are in the panel.
func (p *panel) linear(values []float64) []float64 {
	out := make([]float64, len(values))
	for i, n := range p.counts {
		if out[i] = values[0] * float64(n) / float64(p.counts[0]); out[i] > p.most {
			out[i] = math.NaN()
		}
	}
	return out
}

// line draws through all figures that there are.
func (p *panel) line(b *strings.Builder, class string, values []float64) {
	var at []string
	for i, v := range values {
		if !math.IsNaN(v) {
			at = append(at, fmt.Sprintf("%g,%g", p.x(p.counts[i]), p.y(v)))
		}
	}
	if len(at) > 1 {
		fmt.Fprintf(b, "<polyline class=\"%s\" fill=\"none\" points=\"%s\"/>\n", class, strings.Join(at, " "))
	}
}

func (p *panel) x(n int) float64 {
	first, last := math.Log(float64(p.counts[0])), math.Log(float64(p.counts[len(p.counts)-1]))
	return tenth(p.left + p.width*(math.Log(float64(n))-first)/(last-first))
}

func (p *panel) y(v float64) float64 { return tenth(panelTop + panelHeight*(1-v/p.most)) }

func tenth(v float64) float64 { return math.Round(10*v) / 10 }

// short is a number with two digits that count.
func short(v float64) string {
	if v >= 10 {
		return grouped(int(math.Round(v)))
	}
	return strconv.FormatFloat(v, 'g', 2, 64)
}

// grouped is a number with a comma after its thousands.
func grouped(n int) string {
	text := strconv.Itoa(n)
	for i := len(text) - 3; i > 0; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

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
