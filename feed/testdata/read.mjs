// Reads a file that a feed has written with DuckDB, and prints the id and the text of each item as a line of JSON.
//
//	node read.mjs FOLDER-OF-PACKAGES FILE
import { createRequire } from "node:module";
import { resolve } from "node:path";

const [folder, name] = process.argv.slice(2);
const { DuckDBInstance } = createRequire(resolve(folder, "node_modules") + "/")("@duckdb/node-api");
const connection = await (await DuckDBInstance.create()).connect();
const from = name.endsWith(".csv")
	? `read_csv('${name}', all_varchar = true, header = true, delim = ',', quote = '"', escape = '"', max_line_size = 100000000, buffer_size = 400000000, parallel = false, strict_mode = true)`
	: `read_json('${name}', format = '${name.endsWith(".json") ? "array" : "newline_delimited"}', maximum_object_size = 100000000, columns = {id: 'BIGINT', text: 'VARCHAR'})`;
const result = await connection.runAndReadAll(`SELECT id::VARCHAR AS id, text FROM ${from}`);
for (const row of result.getRowObjectsJson()) {
	console.log(JSON.stringify(row));
}
