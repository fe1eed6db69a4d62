package keepalived

import (
	"strings"
	"time"
)

// unsigned reads a whole number as keepalived does: decimal digits, perhaps after a plus. What is larger than 2^32-1 is none.
func unsigned(s string) (n int64, ok bool) {
	s = strings.TrimPrefix(s, "+")
	if s == "" {
		return 0, false
	}
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		if n = n*10 + int64(s[i]-'0'); n > 1<<32-1 {
			return 0, false
		}
	}
	return n, true
}

// signed reads a whole number with a sign.
func signed(s string) (n int64, ok bool) {
	digits, negative := strings.CutPrefix(s, "-")
	if negative && strings.HasPrefix(digits, "+") {
		return 0, false
	}
	n, ok = unsigned(digits)
	if negative {
		n = -n
	}
	return n, ok
}

// leading is the whole number that a text begins with, as strtol of the C library reads it; 0 where it begins with none.
func leading(s string) int64 {
	end := 0
	if s != "" && (s[0] == '-' || s[0] == '+') {
		end = 1
	}
	for end < len(s) && s[end] >= '0' && s[end] <= '9' {
		end++
	}
	n, _ := signed(s[:end])
	return n
}

// seconds reads a decimal number of seconds, of six places at most.
func seconds(s string) (d time.Duration, ok bool) {
	whole, fraction, _ := strings.Cut(s, ".")
	if whole == "" && fraction == "" || len(fraction) > 6 || strings.HasPrefix(fraction, "+") {
		return 0, false
	}
	w, f := int64(0), int64(0)
	if whole != "" {
		if w, ok = unsigned(whole); !ok {
			return 0, false
		}
	}
	if fraction != "" {
		if f, ok = unsigned(fraction + strings.Repeat("0", 6-len(fraction))); !ok {
			return 0, false
		}
	}
	return time.Duration(w)*time.Second + time.Duration(f)*time.Microsecond, true
}

// boolean reads one of keepalived's words for yes and no.
func boolean(s string) (value, ok bool) {
	switch strings.ToLower(s) {
	case "on", "true", "yes":
		return true, true
	case "off", "false", "no":
		return false, true
	}
	return false, false
}

// rounded is d in the steps that an advertisement of this version can say, as keepalived rounds: halves up, at least one step.
func rounded(d time.Duration, version int) time.Duration {
	step, most := time.Second, 255*time.Second
	if version == 3 {
		step, most = 10*time.Millisecond, 40950*time.Millisecond
	}
	return min(max((d+step/2)/step*step, step), most)
}
