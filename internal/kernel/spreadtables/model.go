package spreadtables

import "github.com/keepvip/keepvip/internal/kernel/nfttables"

// The tables are described as nfttables has them.
type (
	table   = nfttables.Table
	set     = nfttables.Set
	bySlot  = nfttables.BySlot
	kind    = nfttables.Kind
	element = nfttables.Element
	chain   = nfttables.Chain
	match   = nfttables.Match
)

var (
	run = nfttables.Run
	and = nfttables.And
)
