package config

// onConflict says what a holder does about a host outside the election that claims one of its addresses.
type onConflict string

// The two answers.
const (
	defend onConflict = "defend" // announce again, at most every ten seconds (RFC 5227 section 2.4)
	Yield  onConflict = "yield"  // resign, and stay out while it is claimed
)

func conflictOptions() []Option {
	return []Option{
		option("vips[].onConflict", "on-conflict", string(defend), live, one(enum(defend, Yield), func(t target) *onConflict { return &t.vip.OnConflict }),
			"What to do about a host outside the election that claims an address: announce against it, or give the addresses up as long as it does"),
		option("vips[].probeBeforeBind", "probe-before-bind", "true", live, one(boolean(), func(t target) *bool { return &t.vip.ProbeBeforeBind }),
			"Ask the link before this node is the first to bind the addresses, and refuse them while a host outside the election has one; never when another holder was heard"),
	}
}
