// Package election is what all electors have in common: the contract between one that decides which node holds a virtual address,
// and whoever carries that out. An [Elector] is told by [Fitness] how good this node would be, and says by [Decision] which [Role] it
// plays. What the address is, how it is bound and announced, and how health is measured is nobody's business here.
//
// [BindBackoff], [Rejections] and [Lines] are what more than one elector needs. The package starts no goroutine.
package election
