package lab

import "time"

// TreeCPU is the processor time that the process and its descendants have used:
// some daemons work in a child.
func (p *Process) TreeCPU() (time.Duration, error) {
	used, err := p.CPU()
	for _, pid := range descendants(p.PID()) {
		used += cpuOf(statFields(pid))
	}
	return used, err
}

// TreeRSS is the resident set of the process and its descendants in octets;
// pages that they share count for each.
func (p *Process) TreeRSS() (int64, error) {
	sum, err := p.RSS()
	for _, pid := range descendants(p.PID()) {
		rss, _ := rssOf(pid)
		sum += rss
	}
	return sum, err
}
