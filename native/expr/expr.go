package expr

// Expr is an expression; see the package comment.
type Expr struct {
	Args  []Expr  `json:"args,omitempty"`
	Index *int    `json:"index,omitempty"` // of REF
	Op    string  `json:"op"`
	Type  string  `json:"type"`
	Value *string `json:"value,omitempty"` // of LITERAL; absent: NULL
}
