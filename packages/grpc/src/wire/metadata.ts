/**
 * Metadata: the fields that belong to the users of a call. Values are printable ASCII; those of names that end with `-bin`
 * are bytes. grpc: doc/PROTOCOL-HTTP2.md, "Custom-Metadata".
 */
import type { Field } from '../http2/hpack/field.ts'

/** A value: bytes if its name ends with `-bin`, otherwise text. */
export type MetadataValue = string | Uint8Array

/** The values of each name, in lower case. */
export type Metadata = Readonly<Record<string, readonly MetadataValue[]>>

const NAME = /^[0-9a-z_.-]+$/
const TEXT = /^[\x20-\x7e]*$/
const BASE64 = /^[\w+/-]*={0,2}$/
const BINARY = '-bin'
/** Names that belong to gRPC and HTTP, and are no metadata. */
const RESERVED: ReadonlySet<string> = new Set(['content-type', 'te', 'user-agent', 'content-length', 'host'])

/** Whether a name may be metadata: of the right characters, and not of gRPC or HTTP. */
export function isMetadataName(name: string): boolean {
  return NAME.test(name) && !name.startsWith('grpc-') && !RESERVED.has(name)
}

/** Whether the values of a name are bytes. */
export function isBinary(name: string): boolean {
  return name.endsWith(BINARY)
}

/**
 * Adds metadata to fields: name, value, name, value… Spaces at the ends of a text are lost, as HTTP does not have them.
 * @returns the name and value that cannot be sent; `undefined` if all were added
 */
export function writeMetadata(fields: string[], metadata: Metadata): string | undefined {
  for (const [name, values] of Object.entries(metadata)) {
    if (!isMetadataName(name)) return `the name ${JSON.stringify(name)}`
    for (const value of values) {
      if (isBinary(name) !== (typeof value !== 'string'))
        return `${name}: ${isBinary(name) ? 'it must be bytes' : 'it must be text'}`
      if (typeof value !== 'string')
        fields.push(name, Buffer.from(value).toString('base64').replace(/=+$/, ''))
      else if (TEXT.test(value)) fields.push(name, value.trim())
      else return `${name}: a character that is not printable ASCII`
    }
  }
  return undefined
}

/**
 * Reads metadata. Fields of HTTP and gRPC are left out, and so are those with names that gRPC does not allow.
 * @returns `undefined` if a value of bytes is not base64
 */
export function readMetadata(fields: readonly Field[]): Metadata | undefined {
  // Without a prototype, because the names are the peer's.
  const metadata: Record<string, MetadataValue[]> = Object.create(null)
  for (const { name, value } of fields) {
    if (!isMetadataName(name)) continue
    const values = isBinary(name) ? bytesOf(value) : [value]
    if (values === undefined) return undefined
    metadata[name] = [...(metadata[name] ?? []), ...values]
  }
  return metadata
}

/** Values of bytes, which a proxy may have joined with commas. */
function bytesOf(value: string): Uint8Array[] | undefined {
  const parts = value.split(',').map((part) => part.trim())
  return parts.every((part) => BASE64.test(part))
    ? parts.map((part) => new Uint8Array(Buffer.from(part, 'base64')))
    : undefined
}
