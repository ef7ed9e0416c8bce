/**
 * Composite metadata: several entries of metadata, each with its MIME type. Also reads and writes the entries that
 * RSocket defines: routes, MIME types, credentials. Extensions/CompositeMetadata.md, Routing.md,
 * PerStreamDataMimeTypesDefinition.md, Security/.
 */
import {
  type ByteWriter,
  ProtocolError,
  readUint16,
  readUint24,
  text
} from '@elysia-microservices/transport/kit'
import { mimeTypeId, mimeTypeOfId } from './mime-type.ts'

/** The bit that marks a byte as the number of a MIME type. Without this bit, the byte is the length of a name. */
const WELL_KNOWN = 0x80

/** The text of an error, one for all cases because pages load it. */
const CUT = 'Metadata ends within an entry'

/** One entry of composite metadata. `mimeType` is `undefined` for an unknown number. */
export interface MetadataEntry {
  readonly mimeType: string | undefined
  readonly content: Uint8Array
}

/** Begins an entry. Returns the position behind its header, for `endEntry`. */
export function beginEntry(out: ByteWriter, mimeType: string): number {
  writeMimeType(out, mimeType)
  out.uint24(0)
  return out.length
}

/** Ends the entry whose content begins at `start`. */
export function endEntry(out: ByteWriter, start: number): void {
  out.setUint24(start - 3, out.length - start)
}

/** Writes a MIME type as its number, or as its length and name. */
export function writeMimeType(out: ByteWriter, mimeType: string): void {
  const id = mimeTypeId(mimeType)
  if (id !== undefined) return out.uint8(WELL_KNOWN | id)
  // The stored length is the length minus one (see `readMimeType`).
  out.uint8(mimeType.length - 1)
  out.utf8(mimeType)
}

/** @throws {ProtocolError} an entry reaches beyond the metadata */
export function readEntries(metadata: Uint8Array): MetadataEntry[] {
  const entries: MetadataEntry[] = []
  let at = 0
  while (at < metadata.length) {
    const { mimeType, next } = readMimeType(metadata, at)
    if (next + 3 > metadata.length) throw new ProtocolError(CUT)
    const start = next + 3
    at = start + readUint24(metadata, next)
    if (at > metadata.length) throw new ProtocolError(CUT)
    entries.push({ mimeType, content: metadata.subarray(start, at) })
  }
  return entries
}

/** Reads a MIME type. Returns the MIME type and the position behind it. */
export function readMimeType(buffer: Uint8Array, at: number): { mimeType: string | undefined; next: number } {
  const first = buffer[at]
  if (first === undefined) throw new ProtocolError('A MIME type is missing in metadata')
  if (first & WELL_KNOWN) return { mimeType: mimeTypeOfId(first & ~WELL_KNOWN), next: at + 1 }
  // All implementations store the length minus one, because a name has at least one character.
  const next = at + 1 + first + 1
  if (next > buffer.length) throw new ProtocolError(CUT)
  return { mimeType: text.latin1(buffer, at + 1, next), next }
}

/** Reads the tags of routing metadata; the first tag is the route. */
export function readTags(content: Uint8Array): string[] {
  const tags: string[] = []
  let at = 0
  while (at < content.length) {
    const start = at + 1
    at = start + (content[at] as number)
    if (at > content.length) throw new ProtocolError('A tag of routing metadata reaches beyond it')
    tags.push(text.read(content, start, at))
  }
  return tags
}

/** Credentials, sent as metadata of type `message/x.rsocket.authentication.v0`. */
export type Credentials =
  | { readonly type: 'simple'; readonly username: string; readonly password: string }
  | { readonly type: 'bearer'; readonly token: string }
  | { readonly type: 'other'; readonly name: string; readonly payload: Uint8Array }

const AUTH_SIMPLE = 0x00
const AUTH_BEARER = 0x01

export function readCredentials(content: Uint8Array): Credentials {
  const first = content[0]
  if (first === undefined) throw new ProtocolError('Authentication metadata is empty')
  if (first === (WELL_KNOWN | AUTH_BEARER))
    return { type: 'bearer', token: text.read(content, 1, content.length) }
  if (first === (WELL_KNOWN | AUTH_SIMPLE)) {
    if (content.length < 3) throw new ProtocolError('Simple authentication metadata has no username length')
    const end = 3 + readUint16(content, 1)
    if (end > content.length) throw new ProtocolError('A username is longer than its authentication metadata')
    return {
      type: 'simple',
      username: text.read(content, 3, end),
      password: text.read(content, end, content.length)
    }
  }
  if (first & WELL_KNOWN)
    return { type: 'other', name: `0x${(first & ~WELL_KNOWN).toString(16)}`, payload: content.subarray(1) }
  const end = 1 + first
  if (end > content.length)
    throw new ProtocolError('The name of an authentication type is longer than its metadata')
  return { type: 'other', name: text.latin1(content, 1, end), payload: content.subarray(end) }
}

/** Writes credentials as the content of an authentication entry. */
export function writeCredentials(out: ByteWriter, credentials: Credentials): void {
  switch (credentials.type) {
    case 'bearer':
      out.uint8(WELL_KNOWN | AUTH_BEARER)
      return out.utf8(credentials.token)
    case 'simple':
      out.uint8(WELL_KNOWN | AUTH_SIMPLE)
      out.uint16(text.length(credentials.username))
      out.utf8(credentials.username)
      return out.utf8(credentials.password)
    case 'other':
      out.uint8(credentials.name.length)
      out.utf8(credentials.name)
      return out.bytes(credentials.payload)
  }
}
