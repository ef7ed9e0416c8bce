/**
 * The codecs of a connection, found by MIME type. JSON and bytes are always registered; other codecs must be registered
 * before use.
 */
import { bytesCodec } from './bytes.ts'
import type { Codec, CodecFactory } from './codec.ts'
import { jsonCodec } from './json.ts'

const FACTORIES = new Map<string, CodecFactory>()
const SHORT_NAMES = new Map<string, string>()

/** Codecs with their own import path, because they add much more code than JSON. */
const BY_IMPORT: Readonly<Record<string, string>> = {
  msgpack: '@elysia-microservices/transport/msgpack',
  shapes: '@elysia-microservices/transport/shapes'
}

registerCodec('json', jsonCodec.mimeType, () => jsonCodec)
registerCodec('bytes', bytesCodec.mimeType, () => bytesCodec)

/** The name of a codec, or its MIME type. */
export type CodecName = 'json' | 'shapes' | 'msgpack' | 'bytes' | `${string}/${string}`

/** Carries the codec of a transport's clients in its type. Has no value at run time. */
export interface Carrying<Codec extends CodecName> {
  readonly '~codec'?: Codec
}

/** Registers a codec under its short name and its MIME type. */
export function registerCodec(name: string, mimeType: string, open: CodecFactory): void {
  SHORT_NAMES.set(name, mimeType)
  FACTORIES.set(mimeType, open)
}

/** The short names of the registered codecs, such as `'json'`. */
export function codecNames(): string[] {
  return [...SHORT_NAMES.keys()]
}

/** The MIME types that have a codec. */
export function knownMimeTypes(): string[] {
  return [...FACTORIES.keys()]
}

/**
 * The codecs that an option may name, as text for an error message.
 * @param name the codec that the user has asked for
 */
export function codecsInWords(name: unknown): string {
  const entry = typeof name === 'string' && !SHORT_NAMES.has(name) ? BY_IMPORT[name] : undefined
  const known = `one of ${codecNames()
    .map((one) => `'${one}'`)
    .join(', ')}`
  return entry === undefined ? known : `${known}, or, after import '${entry}', '${name}'`
}

/** Whether there is a codec for a MIME type. */
export function hasCodec(mimeType: string): boolean {
  return FACTORIES.has(mimeType)
}

/** The codec of a MIME type; `undefined` if the type has none. */
export function openCodec(mimeType: string): Codec | undefined {
  return FACTORIES.get(mimeType)?.()
}

/** The MIME type of a codec's short name. Any other name is returned unchanged, because it is a MIME type. */
export function mimeTypeOfCodec(name: string): string {
  return SHORT_NAMES.get(name) ?? name
}
