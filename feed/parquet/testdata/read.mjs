// Reads Parquet files by two readers that are not ours, and prints a line of JSON for each row: the reader, the file, and the columns in
// the order of the file. Numbers and times are texts, so that none is rounded.
//
//	node read.mjs FILE...
import { DuckDBInstance, DuckDBTimestampTZValue, DuckDBTimestampNanosecondsValue, DuckDBDecimalValue, DuckDBListValue, DuckDBMapValue, DuckDBStructValue, DuckDBBlobValue } from '@duckdb/node-api'
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { writeSync } from 'node:fs'

class Time { constructor(text) { this.text = text } }

function plain(v) {
  if (v === null || v === undefined) return null
  switch (typeof v) {
  case 'string': case 'boolean': return v
  case 'number': return Object.is(v, -0) ? '-0' : String(v)
  case 'bigint': return String(v)
  }
  if (v instanceof Time) return v.text
  if (v instanceof Uint8Array) return Buffer.from(v).toString('base64')
  if (v instanceof DuckDBBlobValue) return Buffer.from(v.bytes).toString('base64')
  if (v instanceof DuckDBTimestampTZValue) return String(v.micros)
  if (v instanceof DuckDBTimestampNanosecondsValue) return String(v.nanos ?? v.nanoseconds)
  if (v instanceof DuckDBDecimalValue) return v.toString()
  if (v instanceof DuckDBListValue) return v.items.map(plain)
  if (v instanceof DuckDBMapValue) return Object.fromEntries(v.entries.map(e => [String(e.key), plain(e.value)]))
  if (v instanceof DuckDBStructValue) return plain(v.entries)
  if (Array.isArray(v)) return v.map(plain)
  if (v.constructor !== Object) throw new Error(`unknown value ${v.constructor.name}`)
  return Object.fromEntries(Object.entries(v).map(([k, e]) => [k, plain(e)]))
}

function print(reader, file, row) {
  let text = Buffer.from(JSON.stringify({ reader, file, row: plain(row) }) + '\n')
  while (text.length > 0) {
    try {
      text = text.subarray(writeSync(1, text))
    } catch (err) {
      if (err.code !== 'EAGAIN') throw err
    }
  }
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
const text = bytes => bytes && decoder.decode(bytes)
const time = n => n === undefined || n === null ? n : new Time(String(n))
const parsers = { stringFromBytes: text, jsonFromBytes: text, timestampFromMilliseconds: time, timestampFromMicroseconds: time, timestampFromNanoseconds: time }

const db = await (await DuckDBInstance.create(':memory:')).connect()
for (const file of process.argv.slice(2)) {
  const result = await db.runAndReadAll(`SELECT * FROM read_parquet('${file.replaceAll("'", "''")}')`)
  for (const row of result.getRowObjects()) print('duckdb', file, row)
  for (const row of await parquetReadObjects({ file: await asyncBufferFromFile(file), compressors, parsers, utf8: false })) print('hyparquet', file, row)
}
