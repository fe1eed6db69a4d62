package config

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// kind is a type of value: how its text is read, written and described, the same in file, environment and flag.
type kind[T any] struct {
	name   string         // as --help and the reference show it
	span   string         // the range, "" when there is none
	tags   []string       // the YAML scalars that are accepted
	schema map[string]any // JSON schema
	parse  func(string) (T, error)
	format func(T) string
}

const (
	tagString = "!!str"
	tagInt    = "!!int"
	tagBool   = "!!bool"
)

func text(name string, check func(string) error) kind[string] {
	return kind[string]{
		name: name, tags: []string{tagString}, schema: map[string]any{"type": "string"},
		parse:  func(s string) (string, error) { return s, check(s) },
		format: func(s string) string { return s },
	}
}

func enum[T ~string](values ...T) kind[T] {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return kind[T]{
		name: strings.Join(words, "|"), tags: []string{tagString}, schema: map[string]any{"type": "string", "enum": words},
		parse: func(s string) (T, error) {
			if !slices.Contains(words, s) {
				return "", fmt.Errorf("%s, want %s", show(s), strings.Join(words, " or "))
			}
			return T(s), nil
		},
		format: func(v T) string { return string(v) },
	}
}

// joined is words in one text, for an error.
func joined[T ~string](words []T, between string) string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return strings.Join(all, between)
}

func boolean() kind[bool] {
	return kind[bool]{
		name: "bool", tags: []string{tagBool}, schema: map[string]any{"type": "boolean"},
		parse: func(s string) (bool, error) {
			if s != "true" && s != "false" {
				return false, fmt.Errorf("%s, want true or false", show(s))
			}
			return s == "true", nil
		},
		format: strconv.FormatBool,
	}
}

func number[T ~int | ~uint8 | ~uint16](least, most T) kind[T] {
	return kind[T]{
		name: "number", span: fmt.Sprintf("%d to %d", least, most), tags: []string{tagInt},
		schema: map[string]any{"type": "integer", "minimum": least, "maximum": most},
		parse: func(s string) (T, error) {
			n, err := strconv.ParseInt(s, 10, 64)
			if err != nil || n < int64(least) || n > int64(most) {
				return 0, fmt.Errorf("%s, want a number from %d to %d", show(s), least, most)
			}
			return T(n), nil
		},
		format: func(n T) string { return strconv.FormatInt(int64(n), 10) },
	}
}

// duration is a Go duration between least and most, a multiple of step.
func duration(least, most, step time.Duration) kind[time.Duration] {
	return kind[time.Duration]{
		name: "duration", span: fmt.Sprintf("%v to %v", least, most), tags: []string{tagString, tagInt}, // a number, so that the complaint is about its unit
		schema: map[string]any{"type": "string", "pattern": `^([0-9]+(\.[0-9]+)?(us|ms|s|m|h))+$|^0$`},
		parse: func(s string) (time.Duration, error) {
			d, err := time.ParseDuration(s)
			switch {
			case err != nil:
				return 0, fmt.Errorf("%s, want a duration with its unit, such as 100ms or 2s", show(s))
			case d < least || d > most:
				return 0, fmt.Errorf("%s, want a duration from %v to %v", show(s), least, most)
			case d%step != 0:
				return 0, fmt.Errorf("%s, want a multiple of %v", show(s), step)
			}
			return d, nil
		},
		format: time.Duration.String,
	}
}

// show makes a value fit for one line of an error, whatever bytes it has.
func show(s string) string {
	odd := func(r rune) bool { return r <= ' ' || r > '~' || r == '"' }
	if short := clip(s); short == "" || strings.ContainsFunc(short, odd) {
		return strconv.QuoteToASCII(short)
	}
	return clip(s)
}

// showKey is show for a name in a key path.
func showKey(s string) string {
	if s == "" || strings.ContainsAny(s, ".[]:") {
		return strconv.QuoteToASCII(clip(s))
	}
	return show(s)
}

// clip bounds a value that is repeated in an error.
func clip(s string) string {
	const most = 80
	if len(s) <= most {
		return s
	}
	return s[:most] + "..."
}
