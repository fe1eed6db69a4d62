package yamledit

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// lines are those of the text, each with its end.
func (e *Editor) lines() []string { return slices.Collect(strings.Lines(string(e.text))) }

// lineEnd is what ends the first line.
func (e *Editor) lineEnd() string {
	if first, _, _ := strings.Cut(string(e.text), "\n"); strings.HasSuffix(first, "\r") {
		return "\r\n"
	}
	return "\n"
}

// replace puts other lines in place of [start, end), and says nothing about what they mean.
func (e *Editor) replace(start, end int, with []string) {
	lines := slices.Replace(e.lines(), start, end, with...)
	for i, l := range lines {
		if i+1 < len(lines) && !strings.HasSuffix(l, "\n") { // the last one of before
			lines[i] += e.lineEnd()
		}
	}
	e.text = []byte(strings.Join(lines, ""))
}

// block is a value as lines that begin at a column.
func (e *Editor) block(value any, column int) ([]string, error) {
	var b bytes.Buffer
	enc := yaml.NewEncoder(&b)
	enc.SetIndent(2)
	if err := errors.Join(enc.Encode(value), enc.Close()); err != nil {
		return nil, fmt.Errorf("kubeadm: render YAML: %w", err)
	}
	lines := slices.Collect(strings.Lines(strings.ReplaceAll(b.String(), "\n", e.lineEnd())))
	for i, l := range lines {
		if strings.TrimSpace(l) != "" {
			lines[i] = strings.Repeat(" ", column) + l
		}
	}
	return lines, nil
}

// documentEnd is the line of the marker that ends the document around a line.
func documentEnd(lines []string, from int) int {
	for i := from; i < len(lines); i++ {
		l := strings.TrimRight(lines[i], "\r\n")
		if l == "---" || l == "..." || strings.HasPrefix(l, "--- ") {
			return i
		}
	}
	return len(lines)
}

// contentEnd leaves out the comments and blank lines at the end, which belong to what follows. What stands deeper than the
// column may be text within a block scalar.
func contentEnd(lines []string, start, end, column int) int {
	for end > start+1 {
		l := lines[end-1]
		text := strings.TrimLeft(l, " \t")
		comment := strings.HasPrefix(text, "#") && len(l)-len(text) <= column
		if strings.TrimSpace(text) != "" && !comment {
			break
		}
		end--
	}
	return end
}

// dashLine is the line from 0 at which an item of a list begins. Its value may stand below the dash.
func dashLine(lines []string, item, list *yaml.Node) int {
	for i := item.Line - 1; i > list.Line-1; i-- {
		if begins(lines[i], '-', list.Column-1) {
			return i
		}
	}
	return list.Line - 1
}

// commentStart is the first of the comment lines right above a line, at the same column.
func commentStart(lines []string, line, column int) int {
	for line > 0 && begins(lines[line-1], '#', column) {
		line--
	}
	return line
}

// begins tells that the first mark of a line is that one, at that column.
func begins(line string, mark byte, column int) bool {
	return len(line) > column && line[column] == mark && strings.TrimSpace(line[:column]) == ""
}
