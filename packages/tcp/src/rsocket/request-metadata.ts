/**
 * The metadata of a request: the route, headers, MIME types and credentials, as composite metadata. The same
 * bytes come with every call of a pattern, so what they mean is remembered, and so are the bytes of a route.
 */
import {
  ByteWriter,
  copyBytes,
  type Headers,
  OptionError,
  ProtocolError,
  text
} from '@elysia-microservices/transport/kit'
import {
  beginEntry,
  type Credentials,
  endEntry,
  readCredentials,
  readEntries,
  readMimeType,
  readTags,
  writeMimeType
} from './composite-metadata.ts'
import { MimeType } from './mime-type.ts'
import type { Payload } from './payload.ts'

/** What the metadata of a request says. */
export interface RequestMetadata {
  /** The first routing tag; `undefined` if there is none. */
  readonly route: string | undefined
  readonly headers: Headers | undefined
  /** Milliseconds the caller waits. */
  readonly timeout: number | undefined
  /** MIME type of the data, if it is not that of the connection. */
  readonly dataMimeType: string | undefined
  /** MIME types the caller takes an answer in; empty if it does not say. */
  readonly acceptMimeTypes: readonly string[]
  readonly credentials: Credentials | undefined
}

/** A request without metadata. */
export const NO_METADATA: RequestMetadata = {
  route: undefined,
  headers: undefined,
  timeout: undefined,
  dataMimeType: undefined,
  acceptMimeTypes: [],
  credentials: undefined
}

/** The header under which the caller's timeout travels: milliseconds left, as text. */
const TIMEOUT = 'deadline'
const MAX_REMEMBERED = 1024
const MAX_REMEMBERED_LENGTH = 512
const MAX_TAG_LENGTH = 255
const NOTHING = new Uint8Array()

/** Metadata as it came, and what it says. */
interface Remembered {
  readonly bytes: Uint8Array
  readonly meaning: RequestMetadata
}

/** Reads the metadata of requests whose connections have the same metadata MIME type. */
export class MetadataReader {
  readonly #mimeType: string
  readonly #remembered = new Map<string, Remembered>()
  /** What was read last: most often the next one too. */
  #last: Remembered | undefined

  /** @param mimeType the metadata MIME type of the connections */
  constructor(mimeType: string) {
    this.#mimeType = mimeType
  }

  /** @throws {ProtocolError} the metadata is not of its type */
  read(buffer: Buffer, start: number, end: number): RequestMetadata {
    const last = this.#last
    if (last !== undefined && isSame(last.bytes, buffer, start, end)) return last.meaning
    if (end - start > MAX_REMEMBERED_LENGTH) return this.#parse(buffer.subarray(start, end))
    const key = buffer.toString('latin1', start, end)
    const known = this.#remembered.get(key)
    if (known !== undefined) {
      this.#last = known
      return known.meaning
    }
    const meaning = this.#parse(buffer.subarray(start, end))
    // Credentials are not kept longer than their request.
    if (meaning.credentials === undefined) {
      if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
      this.#remembered.set(key, { bytes: copyBytes(buffer, start, end), meaning })
    }
    return meaning
  }

  #parse(metadata: Buffer): RequestMetadata {
    if (this.#mimeType === MimeType.ROUTING) return { ...NO_METADATA, route: readTags(metadata)[0] }
    if (this.#mimeType !== MimeType.COMPOSITE_METADATA) return NO_METADATA
    return parseComposite(metadata)
  }
}

/** Whether the bytes between two positions are those. From the end: routes and headers differ there first. */
function isSame(bytes: Uint8Array, buffer: Buffer, start: number, end: number): boolean {
  let index = bytes.length
  if (index !== end - start) return false
  while (--index >= 0) if (bytes[index] !== buffer[start + index]) return false
  return true
}

/** @throws {ProtocolError} the metadata is not composite metadata */
export function parseComposite(metadata: Buffer): RequestMetadata {
  const result: { -readonly [Key in keyof RequestMetadata]: RequestMetadata[Key] } = { ...NO_METADATA }
  for (const { mimeType, content } of readEntries(metadata)) {
    if (mimeType === MimeType.ROUTING) result.route ??= readTags(content)[0]
    else if (mimeType === MimeType.JSON) {
      const { [TIMEOUT]: timeout, ...headers } = readHeaders(content)
      result.headers = headers
      if (timeout !== undefined && Number(timeout) >= 0) result.timeout = Number(timeout)
    } else if (mimeType === MimeType.DATA_MIME_TYPE)
      result.dataMimeType = readMimeType(content, 0).mimeType ?? 'unknown'
    else if (mimeType === MimeType.ACCEPT_MIME_TYPES) result.acceptMimeTypes = readMimeTypes(content)
    else if (mimeType === MimeType.AUTHENTICATION) result.credentials = readCredentials(content)
    // Entries of other types concern others.
  }
  return result
}

function readMimeTypes(content: Buffer): string[] {
  const mimeTypes: string[] = []
  for (let at = 0; at < content.length; ) {
    const { mimeType, next } = readMimeType(content, at)
    if (mimeType !== undefined) mimeTypes.push(mimeType)
    at = next
  }
  return mimeTypes
}

function readHeaders(content: Buffer): Record<string, string> {
  let value: unknown
  try {
    value = JSON.parse(content.toString('utf8'))
  } catch (cause) {
    throw new ProtocolError('The JSON metadata of a request is not JSON', cause)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProtocolError('The JSON metadata of a request is not an object of headers')
  }
  const texts = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string'
  )
  return Object.fromEntries(texts)
}

/** Writes the metadata of requests. */
export class MetadataWriter {
  /** The bytes of routes alone, and those of routes with the timeout before them. */
  readonly #routes = new Map<string, Uint8Array>()
  readonly #timed = new Map<string, Uint8Array>()
  /** The route that was asked for last, without headers and timeout, and its bytes: most often the next one too. */
  #lastRoute: string | undefined
  #last: Uint8Array = NOTHING

  /**
   * @param timeout milliseconds the caller waits; `undefined` not to tell
   * @throws {OptionError} the route is too long for a routing tag
   */
  write(route: string, headers: Headers | undefined, timeout: number | undefined): Uint8Array {
    if (headers !== undefined) return this.#compose(route, headers, timeout)
    if (timeout !== undefined) return this.#remember(this.#timed, `${timeout}#${route}`, route, timeout)
    if (route === this.#lastRoute) return this.#last
    this.#last = this.#remember(this.#routes, route, route, undefined)
    this.#lastRoute = route
    return this.#last
  }

  #remember(
    known: Map<string, Uint8Array>,
    key: string,
    route: string,
    timeout: number | undefined
  ): Uint8Array {
    const bytes = known.get(key)
    if (bytes !== undefined) return bytes
    const fresh = this.#compose(route, undefined, timeout)
    if (known.size >= MAX_REMEMBERED) known.clear()
    known.set(key, fresh)
    return fresh
  }

  #compose(route: string, headers: Headers | undefined, timeout: number | undefined): Uint8Array {
    const out = new ByteWriter()
    const length = text.length(route)
    if (length > MAX_TAG_LENGTH) {
      throw new OptionError(
        'pattern',
        `The pattern has ${length} bytes; a routing tag of RSocket has at most ${MAX_TAG_LENGTH}`
      )
    }
    const routing = beginEntry(out, MimeType.ROUTING)
    out.uint8(length)
    out.utf8(route)
    endEntry(out, routing)
    if (headers !== undefined || timeout !== undefined) {
      const json = beginEntry(out, MimeType.JSON)
      out.utf8(
        JSON.stringify(
          timeout === undefined ? headers : { ...headers, [TIMEOUT]: String(Math.ceil(timeout)) }
        )
      )
      endEntry(out, json)
    }
    const metadata = out.copyFrom(0)
    out.reset()
    return metadata
  }
}

/** The writer shared by all connections of this process: the bytes of a route depend on nothing else. */
export const metadataWriter = new MetadataWriter()

/** Composite metadata that says of which MIME type the data beside it is. */
export function dataMimeTypeMetadata(mimeType: string): Uint8Array {
  const out = new ByteWriter()
  const entry = beginEntry(out, MimeType.DATA_MIME_TYPE)
  writeMimeType(out, mimeType)
  endEntry(out, entry)
  return out.copyFrom(0)
}

/** The MIME type that an answer says its data is of; `undefined` if it does not say. */
export function dataMimeTypeOf({ buffer, metadataStart, metadataEnd }: Payload): string | undefined {
  try {
    return parseComposite(buffer.subarray(metadataStart, metadataEnd)).dataMimeType
  } catch {
    // Metadata of an answer is the application's own, and may be of any form.
    return undefined
  }
}
