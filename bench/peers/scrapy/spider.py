"""The contestant of the race that is written on Scrapy, as its documentation shows it.

python3 spider.py -url URL -out FILE [-c N] [-dir DIR]
"""

import argparse

import scrapy
from scrapy.crawler import CrawlerProcess


class Shop(scrapy.Spider):
    name = "shop"

    def parse(self, response):
        for product in response.css("div.product"):
            yield {
                "sku": product.css(".sku::text").get(),
                "title": product.css("h1.title::text").get(),
                "price": product.css(".price::text").get(),
                "description": product.css("p.description::text").get(),
                "tags": product.css(".tags li::text").getall(),
            }
        yield from response.follow_all(css="a", callback=self.parse)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("-url", required=True, help="of the start page")
    parser.add_argument("-out", required=True, help="file for the items")
    parser.add_argument("-c", type=int, default=16, help="requests in flight")
    parser.add_argument("-dir", help="directory of a job that can be resumed")
    args = parser.parse_args()
    settings = {
        "CONCURRENT_REQUESTS": args.c,
        "CONCURRENT_REQUESTS_PER_DOMAIN": args.c,
        "FEEDS": {args.out: {"format": "jsonlines"}},
        "LOG_ENABLED": False,
        "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7",
        "ROBOTSTXT_OBEY": False,
        "TELNETCONSOLE_ENABLED": False,
    }
    if args.dir:
        settings["JOBDIR"] = args.dir
    process = CrawlerProcess(settings)
    process.crawl(Shop, start_urls=[args.url], allowed_domains=["127.0.0.1"])
    process.start()


main()
