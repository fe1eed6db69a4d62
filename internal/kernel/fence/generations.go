package fence

// generations tells whether anybody but one fence has changed nftables since all of that was as it should be. The kernel's generation is a
// number that every transaction adds one to.
type generations struct {
	sound uint32 // at which all was as it should be
	own   uint32 // how many renewals of ours there have been since: each is one generation
}

// renewed is for a renewal that has been made.
func (g *generations) renewed() { g.own++ }

// committed is for a transaction that has been made, after which the generation is now: all is well if it was and nobody else has changed
// anything since. One that changes nothing is no generation, so that they cannot be counted.
func (g *generations) committed(now uint32) {
	if now == g.sound+g.own+1 {
		g.verified(now)
	}
}

// unchanged tells whether nobody else has changed anything up to now.
func (g *generations) unchanged(now uint32) bool { return now == g.sound+g.own }

// verified is for a fence that is as it should be.
func (g *generations) verified(now uint32) { g.sound, g.own = now, 0 }
