// Package httpx has what a downloader needs beside net/http: host names that are looked up once ([Resolver]) and
// connections to the first address that answers ([Dial]).
package httpx
