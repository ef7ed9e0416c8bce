/**
 * Metadata: the headers and trailers that belong to callers and handlers. Values are printable ASCII; those of names that
 * end with `-bin` are bytes, in base64. grpc: doc/PROTOCOL-HTTP2.md, "Custom-Metadata".
 */
import { OptionError, RESERVED_PREFIX } from '@elysia-microservices/transport/kit'
import { setOwn } from '../codec/own.ts'
import { fromBase64 } from './base64.ts'

/** Headers or trailers in order; a name may occur several times. */
export type HeaderList = readonly (readonly [name: string, value: string])[]

const NAME = /^[0-9a-z_.-]+$/
const TEXT = /^[ -~]*$/
const BINARY = '-bin'
/** Names that belong to HTTP, to one connection or to a protocol, and tell a handler nothing. */
const OWN: ReadonlySet<string> = new Set([
  'accept',
  'accept-encoding',
  'accept-post',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'date',
  'host',
  'keep-alive',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-grpc-web'
])

function isOwn(name: string): boolean {
  return (
    OWN.has(name) || name.startsWith('grpc-') || name.startsWith('connect-') || name.startsWith('trailer-')
  )
}

/** Whether a name that was received is that of metadata. Names that begin with `elysia-` are ours, which no stranger may set. */
export function isMetadata(name: string): boolean {
  return NAME.test(name) && !isOwn(name) && !name.startsWith(RESERVED_PREFIX)
}

/** Whether the values of a name are bytes. */
export function isBinary(name: string): boolean {
  return name.endsWith(BINARY)
}

/** Metadata as messages have it: texts, and bytes under names that end with `-bin`, several as a list. */
export type Metadata = Record<string, string | Uint8Array | readonly Uint8Array[]>

/** Adds what was received under a name, if the name is that of metadata. Several texts are joined with commas, as HTTP does it. */
export function addMetadata(metadata: Metadata, name: string, value: string): void {
  if (!isMetadata(name)) return
  const before = Object.hasOwn(metadata, name) ? metadata[name] : undefined
  if (!isBinary(name)) return setOwn(metadata, name, before === undefined ? value : `${before},${value}`)
  const bytes = bytesIn(value)
  // A value that is not base64 says nothing.
  if (bytes.length === 0) return
  const all = before === undefined ? bytes : [...listOf(before), ...bytes]
  setOwn(metadata, name, all.length === 1 ? (all[0] as Uint8Array) : all)
}

function listOf(value: Metadata[string]): readonly Uint8Array[] {
  return Array.isArray(value) ? value : [value as Uint8Array]
}

/** Values of bytes, which a proxy may have joined with commas. */
function bytesIn(value: string): Uint8Array[] {
  return value.split(',').flatMap((part) => fromBase64(part.trim()) ?? [])
}

/**
 * Headers or trailers to send, with names in lower case. Bytes are given in base64, several joined with commas.
 * @param path the option of the values, for errors
 * @throws {OptionError} a name or a value cannot be sent
 */
export function headerList(path: string, given: Readonly<Record<string, string>>): HeaderList {
  const list: [string, string][] = []
  for (const name in given) list.push(headerOf(path, name, given[name] as string))
  return list
}

function headerOf(path: string, name: string, value: string): [string, string] {
  const lower = name.toLowerCase()
  if (!NAME.test(lower))
    throw wrong(path, name, "is no name of a header: it may have letters, digits, '-', '_' and '.'")
  if (isOwn(lower)) throw wrong(path, name, 'cannot be set, because HTTP, Connect or gRPC needs it')
  if (isBinary(lower)) {
    const all = value.split(',')
    if (all.every((one) => fromBase64(one) !== undefined))
      return [lower, all.map((one) => one.replace(/=+$/, '')).join(',')]
    throw wrong(path, name, "must be bytes, because its name ends in '-bin'; as text they are in base64")
  }
  if (!TEXT.test(value))
    throw wrong(
      path,
      name,
      "must be printable ASCII, as HTTP demands; send other texts as bytes under a name that ends in '-bin'"
    )
  // HTTP has no spaces at the ends of a value.
  return [lower, value.trim()]
}

/** @param why the end of a sentence about the option */
function wrong(path: string, name: string, why: string): OptionError {
  const where = `${path}[${JSON.stringify(name)}]`
  return new OptionError(where, `${where} ${why}`)
}
