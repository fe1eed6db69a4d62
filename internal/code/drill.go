package code

// KV7xx: failovers on purpose.
func drill() []Entry { return nil }
