package trial

import "time"

// KnownEpisode is an episode that has found something once. It is kept as it was: a new kind changes what every seed draws.
type KnownEpisode struct {
	Plan  []Injection
	Found string
}

// KnownEpisodes are all of them: they run before any new one.
func KnownEpisodes() []KnownEpisode {
	const alone = "two answered while protocol 112 alone was lost"
	const ms = time.Millisecond
	return []KnownEpisode{
		{[]Injection{{Kind: "112 lost, in", After: 885 * ms, For: 1409 * ms, Entry: chaosRaft, Role: 2, Detail: 2997765078}}, alone + " on its way in"},
		{[]Injection{{Kind: "112 lost, in and out", After: 1039 * ms, For: 1820 * ms, Entry: chaosPeers, Role: 1, Detail: 902102442}}, alone + ", both ways"},
		{[]Injection{
			{Kind: "SIGSTOP", After: 1442 * ms, For: 1833 * ms, Entry: chaosRaft, Role: 2, Detail: 3573357039},
			{Kind: "112 lost, in and out", After: 458 * ms, For: 3298 * ms, Entry: chaosRaft, Role: 2, Detail: 1687793514},
		}, alone + ", beside a frozen node"},
		{[]Injection{{Kind: "cable", After: 1190 * ms, For: 781 * ms, Entry: chaosGroup, Role: 0, Detail: 601898147}}, "a holder whose cable was back announced before it had listened"},
		{[]Injection{
			{Kind: "kill -9", After: 100 * ms, For: 300 * ms, Entry: chaosGroup, Role: 1},
			{Kind: "deaf", After: 3400 * ms, For: 3239 * ms, Entry: chaosGroup, Role: 1, Detail: 511065505},
		}, "a deaf node took one of two addresses soon after its start: it had no witness for it"},
	}
}
