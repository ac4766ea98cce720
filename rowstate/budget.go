package rowstate

import (
	"fmt"
	"math"
	"sync"
)

// Budget is the memory an operator may take from the system, shared by all its arenas and tables. Whoever wants to grow
// asks first. It counts what is mapped and usable, in whole pages; how much of that holds live rows is told by the arenas
// and tables themselves.
type Budget struct {
	mu       sync.Mutex
	limit    int64
	used     int64
	accounts map[string]int64
}

// NewBudget returns a budget of limit bytes; a limit of 0 or less means none.
func NewBudget(limit int64) *Budget {
	if limit <= 0 {
		limit = math.MaxInt64
	}
	return &Budget{limit: limit, accounts: map[string]int64{}}
}

// Limit is the number of bytes that may be used at most.
func (b *Budget) Limit() int64 { return b.limit }

// Used is the number of bytes in use.
func (b *Budget) Used() int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.used
}

// ByPurpose tells the bytes in use of every purpose that ever asked.
func (b *Budget) ByPurpose() map[string]int64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	all := make(map[string]int64, len(b.accounts))
	for purpose, n := range b.accounts {
		all[purpose] = n
	}
	return all
}

// take asks for n more bytes.
func (b *Budget) take(purpose string, n int64) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if n > b.limit-b.used {
		return &BudgetError{Purpose: purpose, Requested: n, Used: b.used, Limit: b.limit}
	}
	b.used += n
	b.accounts[purpose] += n
	return nil
}

// force counts n more bytes even if they do not fit.
func (b *Budget) force(purpose string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used += n
	b.accounts[purpose] += n
}

func (b *Budget) give(purpose string, n int64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.used -= n
	b.accounts[purpose] -= n
	if b.used < 0 || b.accounts[purpose] < 0 {
		panic("rowstate: more memory given back than taken for " + purpose)
	}
}

// BudgetError tells that the budget did not allow to grow. State is unchanged when it is returned.
type BudgetError struct {
	Purpose   string // who asked
	Requested int64  // how much more
	Used      int64  // by all purposes together
	Limit     int64
}

func (e *BudgetError) Error() string {
	return fmt.Sprintf("%s: %d more bytes do not fit: %d of %d bytes of the operator's memory are used",
		e.Purpose, e.Requested, e.Used, e.Limit)
}
