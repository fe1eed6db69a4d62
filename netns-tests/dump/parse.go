package dump

import (
	"path/filepath"
	"regexp"
	"strings"
)

// Parse is what a data file of keepalived says, in the same words. What depends on the host or on the moment is left out.
func Parse(data string) []string {
	var out []string
	about, list, section := "", "", ""
	for line := range strings.Lines(data) {
		text := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " "))
		key, value, _ := strings.Cut(text, " = ")
		switch {
		case strings.HasPrefix(line, "------<"):
			section, about, list = strings.Trim(text, "-<> "), "", ""
		case indent == 1:
			list = ""
			about = subject(section, key, value)
		case about == "":
		case indent >= 5 && list != "":
			out = append(out, about+": "+list+" "+vmac.ReplaceAllString(strings.TrimSuffix(text, " set"), " dev "))
		case indent == 3:
			if list = lists[key]; strings.HasPrefix(text, "Virtual IP (") {
				list = "vip"
			}
			if f, ok := fact(about, text, key, value); ok && list == "" {
				out = append(out, about+": "+f)
			}
		}
	}
	return out
}

// vmac is an interface that keepalived has made above another one; above is what it says of that one.
var (
	vmac  = regexp.MustCompile(` dev [^ @]+@`)
	above = regexp.MustCompile(`^.*, (?:vmac|ipvlan) on `)
)

var lists = map[string]string{
	"Virtual IP Excluded :": "evip", "Unicast Peer :": "peer", "Tracked interfaces :": "interface", "Tracked scripts :": "script",
	"Tracked files :": "file", "Tracked processes :": "process", "VRRP member instances :": "member",
}

func subject(section, key, value string) string {
	switch {
	case section == "VRRP Topology" && key == "VRRP Instance":
		return value
	case key == "VRRP Script":
		return "script " + value
	case key == "VRRP Sync Group":
		name, _, _ := strings.Cut(value, ", ")
		return "group " + name
	}
	return ""
}

// compared are the lines of each block that are compared as they are.
var compared = map[string]string{
	"script": "|Command|Interval|Timeout|Weight|Rise|Fall|",
	"group":  "|Using smtp notification|",
	"": "|VRRP Version|Interface|Virtual Router ID|Priority|Advert interval|Authentication type|Password|Accept|Preempt|Preempt delay|Promote_secondaries|" +
		"Gratuitous ARP delay|Gratuitous ARP repeat|Gratuitous ARP refresh|Gratuitous ARP refresh repeat|Gratuitous ARP lower priority delay|" +
		"Gratuitous ARP lower priority repeat|Down timer adverts|Send advert after receive lower priority advert|Send advert after receive higher priority advert|" +
		"Using smtp notification|Notify priority changes|Notify deleted|Unicast TTL|Skip checking advert IP addresses|Enforcing strict VRRP compliance|Sync group|",
}

func fact(about, text, key, value string) (string, bool) {
	kind, _, found := strings.Cut(about, " ")
	if !found || compared[kind] == "" {
		kind = ""
	}
	switch {
	case key == "Command" && strings.HasPrefix(value, "'"): // resolved to its real path
		program, rest, _ := strings.Cut(value[1:], "'")
		return strings.TrimSpace("Command = " + filepath.Base(program) + rest), true
	case key == "Interface":
		return "Interface = " + above.ReplaceAllString(value, ""), true
	case kind == "" && strings.HasPrefix(text, "Multicast address "):
		text, _, _ = strings.Cut(text, ",")
		return text, true
	case kind == "" && strings.HasSuffix(text, "(from configuration)"):
		return text, true
	}
	return text, strings.Contains(compared[kind], "|"+key+"|")
}
