package tegenaria

// ItemInterface is the type of items: any value that a parser extracts.
type ItemInterface interface{}

// ItemMeta is an item on its way through the pipelines. CtxId is that of the Context it came from.
type ItemMeta struct {
	CtxId string
	Item  ItemInterface
}

// NewItem makes an item from a value found in ctx's response.
func NewItem(ctx *Context, item ItemInterface) *ItemMeta {
	return &ItemMeta{CtxId: ctx.CtxId, Item: item}
}
