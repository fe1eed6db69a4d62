package routing

import (
	"bytes"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// askBIRD asks BIRD by its control socket. "restrict" comes first, with which BIRD takes no order that changes anything.
func askBIRD(ctx context.Context, socket string, addresses []netip.Addr, out *Daemon) error {
	c, err := dial(ctx, socket)
	if err != nil {
		return err
	}
	defer c.Close()
	if _, err := c.read(birdReply); err != nil { // it greets
		return err
	}
	ask := func(command string) (string, error) {
		if _, err := fmt.Fprintf(c, "%s\n", command); err != nil {
			return "", err
		}
		reply, err := c.read(birdReply)
		return birdText(reply), err
	}
	if _, err := ask("restrict"); err != nil {
		return err
	}
	text, err := ask("show protocols")
	if err != nil {
		return err
	}
	speakers, down := birdSpeakers(text)
	out.Down = down
	for _, a := range addresses {
		prefix := netip.PrefixFrom(a, a.BitLen()).String()
		text, err := ask("show route " + prefix + " all")
		if err != nil {
			return err
		}
		r := Route{Taken: strings.Contains(text, "Kernel.source:")}
		for _, name := range speakers {
			text, err := ask("show route " + prefix + " export " + name)
			if err != nil {
				return err
			}
			if strings.Contains(text, prefix) {
				r.Leaves = append(r.Leaves, name)
			}
		}
		out.Routes[a] = r
	}
	return nil
}

// birdReply is the length of the first whole reply: its last line has a code of four digits and a space, all but those that go on. 0: it is not whole.
func birdReply(b []byte) int {
	at := 0
	for {
		n := bytes.IndexByte(b[at:], '\n')
		if n < 0 {
			return 0
		}
		line := b[at : at+n]
		at += n + 1
		if len(line) >= 5 && birdCode(line) && line[4] == ' ' && slices.Contains([]byte("089"), line[0]) {
			return at
		}
	}
}

// birdCode tells whether a line begins with a code.
func birdCode(line []byte) bool {
	return len(line) >= 4 && !slices.ContainsFunc(line[:4], func(c byte) bool { return c < '0' || c > '9' })
}

// birdText is a reply without its codes.
func birdText(reply []byte) string {
	var out strings.Builder
	for line := range bytes.Lines(reply) {
		if len(line) >= 5 && birdCode(line) {
			line = line[5:]
		}
		out.Write(line)
	}
	return out.String()
}

// mostSpeakers is how many protocols of BIRD are looked at.
const mostSpeakers = 64

// birdSpeakers reads "show protocols": the names of those that tell routers of routes and are up, and what is with those that are not.
func birdSpeakers(text string) (up, down []string) {
	for line := range strings.Lines(text) {
		f := strings.Fields(line)
		if len(f) < 4 || !slices.Contains([]string{"BGP", "OSPF", "Babel", "RIP"}, f[1]) || !birdName(f[0]) || len(up)+len(down) >= mostSpeakers {
			continue
		}
		if f[3] == "up" {
			up = append(up, f[0])
			continue
		}
		down = append(down, strings.Join(append([]string{f[0] + ": " + f[1], f[3]}, f[min(5, len(f)):]...), " "))
	}
	return up, down
}

// birdName tells whether a word may stand for a protocol in a command.
func birdName(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool {
		return r != '_' && r != '-' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z')
	})
}
