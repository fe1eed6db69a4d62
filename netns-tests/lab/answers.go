package lab

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
	"time"
)

// Way is how a node answers for an address.
type Way int

// The ways.
const (
	ByUDP Way = iota // an answer of the echo
	ByARP
	ByNS // a neighbour advertisement that was asked for
)

// Answer is a frame by which a node answers for an address. At is when the kernel of the switch received it, whenever it was read.
type Answer struct {
	At      time.Duration
	Node    int // whose port it came in by
	Address netip.Addr
	Way     Way
}

// Two is a time in which two nodes answered for an address: one of them answered before, meanwhile and after, and did not take the address
// anew in between. To is the moment behind the last answer that shows it.
type Two struct {
	Address  netip.Addr
	Nodes    [2]int
	From, To time.Duration
}

// parseAnswer reads an answer out of a frame that came out of a node.
func parseAnswer(frame []byte) (Answer, bool) {
	if a, ok := parseAnnouncement(frame); ok {
		way := ByARP
		if a.kind == KindNA {
			way = ByNS
		}
		return Answer{Address: a.address, Way: way}, !a.unsolicited
	}
	carried, _ := packetOf(frame)
	port, _, content := carried.datagram()
	if p, ok := parsePayload(content); !ok || p.node == 0 || port != echoPort {
		return Answer{}, false
	}
	return Answer{Address: carried.from, Way: ByUDP}, true
}

// Answered tells whether the node answered for the address in [from, to).
func (r *Report) Answered(node int, address netip.Addr, from, to time.Duration) bool {
	return slices.ContainsFunc(r.Answers, func(a Answer) bool {
		return a.Node == node && a.At >= from && a.At < to && a.Address == address
	})
}

// Two is for how long two nodes answered for one address: the longest over the addresses that were measured.
func (r *Report) Two() time.Duration { return r.TwoIn(0, math.MaxInt64) }

// TwoIn is the same in [from, to), for one of these addresses or, without any, for all.
func (r *Report) TwoIn(from, to time.Duration, of ...netip.Addr) time.Duration {
	return lengthOf(r.Twos(from, to, true), of)
}

// DiscoveryTwoIn is [Report.TwoIn] for ARP and neighbour discovery alone.
func (r *Report) DiscoveryTwoIn(from, to time.Duration, of ...netip.Addr) time.Duration {
	return lengthOf(r.Twos(from, to, false), of)
}

// Beside is for how long the node answered, and another one, too.
func (r *Report) Beside(node int, from, to time.Duration) time.Duration {
	return lengthOf(slices.DeleteFunc(r.Twos(from, to, true), func(t Two) bool { return r.Blind == nil && !slices.Contains(t.Nodes[:], node) }), nil)
}

// lengthOf is how long two answered: what overlaps counts once, of several addresses the longest counts.
func lengthOf(twos []Two, of []netip.Addr) time.Duration {
	by := map[netip.Addr][]Stall{}
	for _, t := range twos {
		if len(of) == 0 || slices.Contains(of, t.Address) {
			by[t.Address] = append(by[t.Address], Stall{At: t.From, Length: t.To - t.From})
		}
	}
	var longest time.Duration
	for _, spans := range by {
		var sum time.Duration
		for _, s := range joined(spans) {
			sum += s.Length
		}
		longest = max(longest, sum)
	}
	return longest
}

// Twos judges who answered for each of the measured addresses in [from, to), by ARP and neighbour discovery and, if it is asked for, by
// UDP. It goes by the kernel's timestamps alone: nothing is wrong because somebody looked late.
func (r *Report) Twos(from, to time.Duration, udp bool) []Two {
	var found []Two
	if r.Blind != nil {
		for _, address := range r.targets {
			found = append(found, Two{Address: address, From: from, To: min(to, max(r.Ended, from+1))})
		}
		return found
	}
	for _, address := range r.targets {
		tenures := r.tenures(address, from, to, udp)
		for i, a := range tenures {
			for _, b := range tenures[i+1:] {
				// Neither is known to have answered at the same moment, unless one of them did before and after.
				if begin, end := max(a.first, b.first), min(a.last, b.last); a.node != b.node && begin <= end {
					found = append(found, Two{Address: address, Nodes: [2]int{a.node, b.node}, From: begin, To: end + 1})
				}
			}
		}
	}
	return found
}

// mute and muteAnswers are how long a node did not answer at all while others did that often, so that it answers anew when it does again: it was asked
// all the time. A node that nothing reaches answers before and after, and not meanwhile.
const mute, muteAnswers = time.Second, 100

// inTurn is how long a node is quiet at most that serves while another one does, too: both are asked all the time.
const inTurn = 50 * time.Millisecond

// announceLimit is how soon after it answers a node announces an address that it has taken.
const announceLimit = time.Second

// tenure is a time in which a node went on answering.
type tenure struct {
	node        int
	first, last time.Duration
}

// tenures are those of an address. One ends where somebody else has answered or announced and the node announces after that: it has taken
// the address anew. It may answer a moment before it announces. One ends as well where the node was [mute].
func (r *Report) tenures(address netip.Addr, from, to time.Duration, udp bool) []tenure {
	type sign struct {
		at        time.Duration
		node      int
		announces bool
	}
	var signs []sign
	for _, a := range r.Answers {
		if a.Address == address && a.At >= from && a.At < to && (udp || a.Way != ByUDP) {
			signs = append(signs, sign{at: a.At, node: a.Node})
		}
	}
	for _, a := range r.Announcements {
		if a.Address == address && a.At >= from && a.At < to {
			signs = append(signs, sign{at: a.At, node: a.Node, announces: true})
		}
	}
	slices.SortStableFunc(signs, func(a, b sign) int { return cmp.Compare(a.at, b.at) })
	var all []tenure
	open := map[int]int{}      // the tenure of each node
	rivalled := map[int]bool{} // somebody else was seen since the node's last answer
	anew := map[int]sign{}     // the first answer of a node after somebody else was seen
	before := map[int]time.Duration{}
	others := map[int]int{} // answers of others since the node's last one
	for _, s := range signs {
		for n := range open {
			rivalled[n] = rivalled[n] || n != s.node
			if n != s.node && !s.announces {
				others[n]++
			}
		}
		i, known := open[s.node]
		switch {
		case s.announces && known && anew[s.node] != sign{} && s.at-anew[s.node].at <= announceLimit && before[s.node] >= all[i].first:
			// It has answered already when it announces that it has taken the address.
			all = append(all, tenure{s.node, anew[s.node].at, all[i].last})
			all[i].last, open[s.node] = before[s.node], len(all)-1
			delete(before, s.node)
			delete(anew, s.node)
		case s.announces && known && rivalled[s.node]:
			delete(open, s.node)
		case s.announces:
		case !known || s.at-all[i].last >= mute && others[s.node] >= muteAnswers:
			open[s.node] = len(all)
			all = append(all, tenure{s.node, s.at, s.at})
			rivalled[s.node], others[s.node] = false, 0
		default:
			goesOn := anew[s.node] != sign{} && s.at-all[i].last <= inTurn && s.at-anew[s.node].at <= announceLimit
			if rivalled[s.node] && !goesOn {
				anew[s.node], before[s.node] = s, all[i].last
			}
			all[i].last = s.at
			rivalled[s.node], others[s.node] = false, 0
		}
	}
	return all
}

// Overdue are the answers of a node for an address that came after its lease: later than three intervals after the last advertisement in
// which it named the address. They are wrong on any machine, because the kernel ends the lease. A node that has not named the address since
// the measurement began is left out for as long.
func (r *Report) Overdue(node int, address netip.Addr) (late []Answer) {
	var named []Advert
	for _, a := range r.Adverts {
		if a.Node == node && a.Priority > 0 && slices.Contains(a.names, address) {
			named = append(named, a)
		}
	}
	next := 0
	for _, answer := range r.Answers {
		for next < len(named) && named[next].At <= answer.At {
			next++
		}
		if answer.Node != node || answer.Address != address || next == 0 {
			continue
		}
		if last := named[next-1]; answer.At > last.At+3*last.Interval {
			late = append(late, answer)
		}
	}
	return late
}

// Rivalry is how often two nodes advertised the same addresses in turn, at most: none of them more than twice before the other did again.
// One yields as soon as it hears a better one, so it is little on any machine: who is late to hear is late to advertise.
func (r *Report) Rivalry(from, to time.Duration) int {
	type stretch struct{ node, adverts, turns int }
	last, most := map[router]stretch{}, 0
	for _, a := range r.Adverts {
		if a.At < from || a.At >= to || a.Priority <= 1 { // with 1 a holder offers the addresses
			continue
		}
		k := a.router()
		s := last[k]
		switch {
		case s.node == a.Node:
			s.adverts++
		case s.node == 0 || s.adverts > 2:
			s = stretch{node: a.Node, adverts: 1}
		default:
			s = stretch{node: a.Node, adverts: 1, turns: s.turns + 1}
		}
		last[k], most = s, max(most, s.turns)
	}
	return most
}
