package chart

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

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
