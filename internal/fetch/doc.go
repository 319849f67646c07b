// Package fetch keeps one HTTP exchange within its bounds. It knows nothing of crawling.
//
//	Budget.Grow → the bytes of a body may be in memory → Budget.Release
//
// A short example:
//
//	budget := fetch.NewBudget(256<<20, nil)
//	var hold fetch.Hold
//	defer budget.Release(&hold)
//	if err := budget.Grow(ctx, &hold, size); err != nil {
//		return err
//	}
package fetch
