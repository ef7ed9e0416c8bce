/**
 * The metadata of a request as composite metadata: route, headers, MIME types and credentials. Every call with the same
 * pattern has the same bytes. So readers remember the content of bytes, and writers the bytes of a route.
 */
import {
  ByteWriter,
  copyBytes,
  type MessageHeaders,
  OptionError,
  ProtocolError,
  RESERVED_PREFIX,
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

/** The content of a request's metadata. */
export interface RequestMetadata {
  /** The first routing tag; `undefined` if there is none. */
  readonly route: string | undefined
  readonly headers: MessageHeaders | undefined
  /** Milliseconds for which the caller waits. */
  readonly timeout: number | undefined
  /** Milliseconds for which the caller takes values of a stream. */
  readonly lifetime: number | undefined
  /** Bytes of a stream that may be sent between two grants of demand. */
  readonly window: number | undefined
  /** MIME type of the data; `undefined`: the MIME type of the connection. */
  readonly dataMimeType: string | undefined
  /** MIME types that the caller accepts for the answer; empty: the MIME type of the request. */
  readonly acceptMimeTypes: readonly string[]
  readonly credentials: Credentials | undefined
}

/** The content of missing metadata. */
export const NO_METADATA: RequestMetadata = {
  route: undefined,
  headers: undefined,
  timeout: undefined,
  lifetime: undefined,
  window: undefined,
  dataMimeType: undefined,
  acceptMimeTypes: [],
  credentials: undefined
}

/** The header with the caller's timeout: remaining milliseconds, as text. */
const TIMEOUT = `${RESERVED_PREFIX}timeout`
/** The header with the milliseconds that are left for the whole call, of a stream until its last value. */
const LIFETIME = `${RESERVED_PREFIX}lifetime`
/** The header with the bytes of a stream's window: the reader asks for more values when it has read half of them. */
const WINDOW = `${RESERVED_PREFIX}window`
const MAX_REMEMBERED = 1024
const MAX_REMEMBERED_LENGTH = 512
const MAX_TAG_LENGTH = 255
const NOTHING = new Uint8Array()

/** Received metadata, and its content. */
interface Remembered {
  readonly bytes: Uint8Array
  readonly meaning: RequestMetadata
}

/** Reads the metadata of requests, for all connections with the same metadata MIME type. */
export class MetadataReader {
  readonly #mimeType: string
  readonly #remembered = new Map<string, Remembered>()
  /** The metadata that was read last, because the same metadata often follows. */
  #last: Remembered | undefined

  /** @param mimeType the metadata MIME type of the connections */
  constructor(mimeType: string) {
    this.#mimeType = mimeType
  }

  /** @throws {ProtocolError} the metadata is not of its MIME type */
  read(buffer: Uint8Array, start: number, end: number): RequestMetadata {
    const last = this.#last
    if (last !== undefined && isSame(last.bytes, buffer, start, end)) return last.meaning
    if (end - start > MAX_REMEMBERED_LENGTH) return this.#parse(buffer.subarray(start, end))
    const key = text.latin1(buffer, start, end)
    const known = this.#remembered.get(key)
    if (known !== undefined) {
      this.#last = known
      return known.meaning
    }
    const meaning = this.#parse(buffer.subarray(start, end))
    // Metadata with credentials is not remembered, because credentials must not be stored longer than their request.
    if (meaning.credentials === undefined) {
      if (this.#remembered.size >= MAX_REMEMBERED) this.#remembered.clear()
      this.#remembered.set(key, { bytes: copyBytes(buffer, start, end), meaning })
    }
    return meaning
  }

  #parse(metadata: Uint8Array): RequestMetadata {
    if (this.#mimeType === MimeType.ROUTING) return { ...NO_METADATA, route: readTags(metadata)[0] }
    if (this.#mimeType !== MimeType.COMPOSITE_METADATA) return NO_METADATA
    return parseComposite(metadata)
  }
}

/** Whether two ranges of bytes are equal. Compares from the end, because routes and headers differ there. */
function isSame(bytes: Uint8Array, buffer: Uint8Array, start: number, end: number): boolean {
  let index = bytes.length
  if (index !== end - start) return false
  while (--index >= 0) if (bytes[index] !== buffer[start + index]) return false
  return true
}

/** @throws {ProtocolError} the metadata is not composite metadata */
export function parseComposite(metadata: Uint8Array): RequestMetadata {
  const result: { -readonly [Key in keyof RequestMetadata]: RequestMetadata[Key] } = { ...NO_METADATA }
  for (const { mimeType, content } of readEntries(metadata)) {
    if (mimeType === MimeType.ROUTING) result.route ??= readTags(content)[0]
    else if (mimeType === MimeType.JSON) {
      const headers = readHeaders(content)
      result.timeout = numberOf(headers[TIMEOUT])
      result.lifetime = numberOf(headers[LIFETIME]) || undefined
      result.window = numberOf(headers[WINDOW]) || undefined
      delete headers[TIMEOUT]
      delete headers[LIFETIME]
      delete headers[WINDOW]
      // A message has no headers because of these three.
      const isOurs = (result.window ?? result.timeout ?? result.lifetime) !== undefined
      if (!isOurs || Object.keys(headers).length > 0) result.headers = Object.freeze(headers)
    } else if (mimeType === MimeType.DATA_MIME_TYPE)
      result.dataMimeType = readMimeType(content, 0).mimeType ?? 'unknown'
    else if (mimeType === MimeType.ACCEPT_MIME_TYPES) result.acceptMimeTypes = readMimeTypes(content)
    else if (mimeType === MimeType.AUTHENTICATION) result.credentials = readCredentials(content)
    // Entries of other types are ignored.
  }
  return result
}

function numberOf(header: string | undefined): number | undefined {
  return header !== undefined && /^\d{1,15}$/.test(header) ? Number(header) : undefined
}

function readMimeTypes(content: Uint8Array): string[] {
  const mimeTypes: string[] = []
  for (let at = 0; at < content.length; ) {
    const { mimeType, next } = readMimeType(content, at)
    if (mimeType !== undefined) mimeTypes.push(mimeType)
    at = next
  }
  return mimeTypes
}

function readHeaders(content: Uint8Array): Record<string, string> {
  let value: unknown
  try {
    value = JSON.parse(text.read(content, 0, content.length))
  } catch (cause) {
    throw new ProtocolError('Metadata of type application/json of a request is not JSON', cause)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new ProtocolError('Metadata of type application/json of a request is not an object of headers')
  }
  const texts = Object.entries(value).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string'
  )
  return Object.fromEntries(texts)
}

/** Writes the metadata of requests. */
export class MetadataWriter {
  /** Metadata by route, and by timeout, window and route. */
  readonly #routes = new Map<string, Uint8Array>()
  readonly #timed = new Map<string, Uint8Array>()
  /** Route and timeout of the last request without headers, and its metadata: the same metadata often follows. */
  #lastRoute: string | undefined
  #lastTimeout: number | undefined
  #lastWindow = 0
  #last: Uint8Array = NOTHING

  /**
   * Returns the metadata of a request.
   * @param timeout milliseconds for which the caller waits; `undefined`: not sent
   * @param window bytes that a stream may send between two grants of demand; `Infinity`: not sent
   * @param lifetime milliseconds for the whole call; `undefined`: not sent
   * @throws {OptionError} the route is too long for a routing tag
   */
  write(
    route: string,
    headers: MessageHeaders | undefined,
    timeout: number | undefined,
    window = Number.POSITIVE_INFINITY,
    lifetime?: number
  ): Uint8Array {
    if (headers !== undefined || lifetime !== undefined)
      return this.#compose(route, headers, timeout, window, lifetime)
    if (route === this.#lastRoute && timeout === this.#lastTimeout && window === this.#lastWindow)
      return this.#last
    const isPlain = timeout === undefined && window === Number.POSITIVE_INFINITY
    const key = isPlain ? route : `${timeout}#${window}#${route}`
    this.#last = this.#remember(isPlain ? this.#routes : this.#timed, key, route, timeout, window)
    this.#lastRoute = route
    this.#lastTimeout = timeout
    this.#lastWindow = window
    return this.#last
  }

  #remember(
    known: Map<string, Uint8Array>,
    key: string,
    route: string,
    timeout: number | undefined,
    window: number
  ): Uint8Array {
    const bytes = known.get(key)
    if (bytes !== undefined) return bytes
    const fresh = this.#compose(route, undefined, timeout, window)
    if (known.size >= MAX_REMEMBERED) known.clear()
    known.set(key, fresh)
    return fresh
  }

  #compose(
    route: string,
    headers: MessageHeaders | undefined,
    timeout: number | undefined,
    window: number,
    lifetime?: number
  ): Uint8Array {
    const out = new ByteWriter()
    const length = text.length(route)
    if (length > MAX_TAG_LENGTH) {
      throw new OptionError(
        'pattern',
        `The pattern has ${length} bytes; RSocket allows at most ${MAX_TAG_LENGTH}, so choose a shorter one`
      )
    }
    const routing = beginEntry(out, MimeType.ROUTING)
    out.uint8(length)
    out.utf8(route)
    endEntry(out, routing)
    const isBounded = window < Number.POSITIVE_INFINITY
    if ((headers ?? timeout ?? lifetime) !== undefined || isBounded) {
      const json = beginEntry(out, MimeType.JSON)
      out.utf8(
        JSON.stringify({
          ...headers,
          [TIMEOUT]: timeout === undefined ? timeout : String(Math.ceil(timeout)),
          [LIFETIME]: lifetime === undefined ? lifetime : String(lifetime),
          [WINDOW]: isBounded ? String(window) : undefined
        })
      )
      endEntry(out, json)
    }
    const metadata = out.copyFrom(0)
    out.reset()
    return metadata
  }
}

/** The writer for all connections of this process, because the metadata of a route is the same on all of them. */
export const metadataWriter = new MetadataWriter()

/** Makes composite metadata that names the MIME type of the data. */
export function dataMimeTypeMetadata(mimeType: string): Uint8Array {
  const out = new ByteWriter()
  const entry = beginEntry(out, MimeType.DATA_MIME_TYPE)
  writeMimeType(out, mimeType)
  endEntry(out, entry)
  return out.copyFrom(0)
}

/** The MIME type that an answer's metadata names; `undefined` if it names none. */
export function dataMimeTypeOf(payload: Payload): string | undefined {
  return inEntry(
    payload,
    MimeType.DATA_MIME_TYPE,
    (content) => readMimeType(content, 0).mimeType ?? 'unknown'
  )
}

/** Adds the headers of an answer to the metadata of one of its payloads. @param json see `answer-headers.ts` */
export function withAnswerHeaders(metadata: Uint8Array | undefined, json: string): Uint8Array {
  const out = new ByteWriter()
  if (metadata !== undefined) out.bytes(metadata)
  const entry = beginEntry(out, MimeType.ANSWER_HEADERS)
  out.utf8(json)
  endEntry(out, entry)
  return out.copyFrom(0)
}

/** The headers of an answer in the metadata of a payload, as JSON; `undefined`: there are none. */
export function answerHeadersOf(payload: Payload): string | undefined {
  return inEntry(payload, MimeType.ANSWER_HEADERS, (content) => text.read(content, 0, content.length))
}

/** Reads an entry in the metadata of an answer; `undefined`: there is none. */
function inEntry(
  { buffer, metadataStart, metadataEnd }: Payload,
  name: string,
  read: (content: Uint8Array) => string
): string | undefined {
  try {
    const entries = readEntries(buffer.subarray(metadataStart, metadataEnd))
    const entry = entries.find(({ mimeType }) => mimeType === name)
    return entry && read(entry.content)
  } catch {
    // The metadata of an answer belongs to the application and may have any form, so an error is ignored.
    return undefined
  }
}
