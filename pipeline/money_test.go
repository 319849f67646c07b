package pipeline_test

import (
	"fmt"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/tegenaria/tegenaria/internal/deep"
	"github.com/tegenaria/tegenaria/pipeline"
	"github.com/tegenaria/tegenaria/selector"
)

type priced struct {
	Any  selector.Money  `json:"any" min:"0.01" max:"1000"`
	Euro *selector.Money `json:"euro" min:"-5.50 EUR" max:"10 EUR"`
}

// The bounds of amounts are amounts, and count for the currency that they name. An amount is compared as a number, and not as a text.
func TestValidateMoney(t *testing.T) {
	part := pipeline.Validate[priced](pipeline.ValidateOptions{})
	euro := func(amount, currency string) *selector.Money {
		return &selector.Money{Amount: amount, Currency: currency}
	}
	for _, tt := range []struct {
		item priced
		want []string
	}{
		{priced{Any: *euro("0.01", "GBP")}, nil},
		{priced{Any: *euro("999.99", "JPY"), Euro: euro("-5.5", "EUR")}, nil},
		{priced{Any: *euro("1000.00", ""), Euro: euro("9.999", "EUR")}, nil},
		{priced{Any: *euro("0.001", "GBP"), Euro: euro("-5.51", "EUR")}, []string{"any min", "euro min"}},
		{priced{Any: *euro("-1", "GBP"), Euro: euro("10.01", "EUR")}, []string{"any min", "euro max"}},
		{priced{Any: *euro("1000.01", "GBP"), Euro: euro("5", "USD")}, []string{"any max", "euro min", "euro max"}},
		{priced{Any: *euro("five", "GBP"), Euro: euro("5", "")}, []string{"any min", "any max", "euro min", "euro max"}},
		{priced{}, []string{"any min", "any max"}},
	} {
		list, _ := faultsOf(t, tt.item, part)
		if !slices.Equal(list, tt.want) {
			t.Errorf("%+v: got %q, want %q", tt.item, list, tt.want)
		}
	}
	_, err := faultsOf(t, priced{Any: *euro("1000.01", "GBP")}, part)
	if err == nil || !strings.Contains(err.Error(), "1000.01 GBP, the most is 1000") {
		t.Errorf("%v", err)
	}
}

func TestValidateMoneyMistakes(t *testing.T) {
	type wrong struct {
		A selector.Money `min:"x"`
		B selector.Money `max:"1,50"`
		C selector.Money `max:"1.50 EURO"`
		D selector.Money `min:"5 EUR" max:"4 EUR"`
		E selector.Money `min:"5" max:"4 EUR"`
		F selector.Money `len:"4"`
		G selector.Money `min:"1" max:"4 EUR"`
	}
	err := pipeline.CheckTags[wrong]()
	if err == nil {
		t.Fatal("no mistakes")
	}
	for field, want := range map[string]bool{"A": true, "B": true, "C": true, "D": true, "E": true, "F": true, "G": false} {
		if got := strings.Contains(err.Error(), "."+field+" ") || strings.Contains(err.Error(), "."+field+":"); got != want {
			t.Errorf("%s: %v in %v", field, got, err)
		}
	}
}

// Amounts are in the order of math/big, whatever their lengths and signs.
func TestOrderOfMoney(t *testing.T) {
	seed := deep.Seed()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	number := func() string {
		text := fmt.Sprint(r.IntN(1 << r.IntN(20)))
		if r.IntN(2) == 0 {
			text += "." + fmt.Sprintf("%0*d", 1+r.IntN(4), r.IntN(10))
		}
		if r.IntN(3) == 0 {
			text = "-" + text
		}
		return text
	}
	for range 20_000 {
		a, b := number(), number()
		x, _ := new(big.Rat).SetString(a)
		y, _ := new(big.Rat).SetString(b)
		if got, want := pipeline.CompareAmounts(a, b), x.Cmp(y); got != want {
			t.Fatalf("%s and %s: got %d, want %d", a, b, got, want)
		}
	}
}
