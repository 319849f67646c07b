package main

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
)

//go:embed shop
var files embed.FS

const (
	products = 25 // of the catalogue
	perPage  = 10
)

// newShop returns the site: its pages are the files of the folder shop, and two answers are JSON for their scripts.
//
//	/                 links to all others
//	/catalogue.html   a list that fetches more products as one scrolls
//	/pen.html         a product, made by the server
//	/lamp.html        a product, made by a script
//	/api/products     the products of the catalogue, ?page=1 and so on
//	/api/lamp         the product of the script
func newShop() http.Handler {
	pages, err := fs.Sub(files, "shop")
	if err != nil {
		panic(err) // the name is a constant
	}
	shop := http.NewServeMux()
	shop.Handle("/", http.FileServerFS(pages))
	shop.HandleFunc("/api/lamp", func(w http.ResponseWriter, _ *http.Request) { send(w, product{Name: "Reading lamp", Price: "30.00"}) })
	shop.HandleFunc("/api/products", func(w http.ResponseWriter, r *http.Request) {
		page, _ := strconv.Atoi(r.FormValue("page"))
		list := []product{}
		for n := (page-1)*perPage + 1; n > 0 && n <= min(page*perPage, products); n++ {
			list = append(list, product{Name: fmt.Sprintf("Notebook No. %d", n), Price: fmt.Sprintf("%d.50", n)})
		}
		send(w, list)
	})
	return shop
}

func send(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	json.NewEncoder(w).Encode(v)
}
