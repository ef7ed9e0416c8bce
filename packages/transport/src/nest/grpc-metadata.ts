/** Metadata as handlers and callers of Nest's gRPC know it: a class with the methods of grpc-js's `Metadata`. */

import { asBuffer } from '../bytes/text.ts'

/** A value: bytes if its name ends in `-bin`, otherwise text. */
export type GrpcMetadataValue = string | Uint8Array

const KEY = /^[:0-9a-z_.-]+$/
const TEXT = /^[ -~]*$/
const BINARY = '-bin'

/** The names and values that are sent beside a call or its answer. Names are in lower case. */
export class GrpcMetadata {
  /** The values by name. grpc-js's own class reads it when it merges this object. */
  readonly internalRepr = new Map<string, GrpcMetadataValue[]>()
  #options: object

  /** @param options have no effect: they are what `getOptions` returns */
  constructor(options: object = {}) {
    this.#options = options
  }

  /** Replaces all values of a name. @throws {Error} the name or the value cannot be sent */
  set(key: string, value: GrpcMetadataValue): void {
    this.internalRepr.set(checked(key, value), [value])
  }

  /** Adds a value to those of a name. @throws {Error} the name or the value cannot be sent */
  add(key: string, value: GrpcMetadataValue): void {
    const name = checked(key, value)
    this.internalRepr.set(name, [...(this.internalRepr.get(name) ?? []), value])
  }

  /** Removes all values of a name. */
  remove(key: string): void {
    this.internalRepr.delete(key.toLowerCase())
  }

  /** All values of a name. */
  get(key: string): GrpcMetadataValue[] {
    return this.internalRepr.get(key.toLowerCase()) ?? []
  }

  /** The first value of each name. */
  getMap(): Record<string, GrpcMetadataValue> {
    const first: Record<string, GrpcMetadataValue> = {}
    for (const [key, [value]] of this.internalRepr) if (value !== undefined) first[key] = value
    return first
  }

  /** A copy, which changes by itself. */
  clone(): GrpcMetadata {
    const copy = new GrpcMetadata(this.#options)
    copy.merge(this)
    return copy
  }

  /** Adds all values of another object. */
  merge(other: { readonly internalRepr: ReadonlyMap<string, readonly GrpcMetadataValue[]> }): void {
    for (const [key, values] of other.internalRepr)
      this.internalRepr.set(key, [...(this.internalRepr.get(key) ?? []), ...values])
  }

  /** Sets what `getOptions` returns. Options have no effect. */
  setOptions(options: object): void {
    this.#options = options
  }

  /** The options that were given. */
  getOptions(): object {
    return this.#options
  }

  /** All values by name. */
  toJSON(): Record<string, GrpcMetadataValue[]> {
    return Object.fromEntries(this.internalRepr)
  }
}

/** Returns the name in lower case. @throws {Error} the name or the value cannot be sent */
function checked(key: string, value: unknown): string {
  const name = key.toLowerCase()
  if (!KEY.test(name)) throw new Error(`Metadata key "${name}" contains illegal characters`)
  const isBytes = value instanceof Uint8Array
  if (name.endsWith(BINARY)) {
    if (!isBytes) throw new Error("keys that end with '-bin' must have bytes as values")
  } else if (isBytes) throw new Error("keys that don't end with '-bin' must have texts as values")
  else if (!TEXT.test(String(value)))
    throw new Error(`Metadata string value "${value}" contains illegal characters`)
  return name
}

/**
 * Reads metadata as a transport has it: by name a text, bytes, or several of them. Bytes may be in base64, as they were
 * on the wire. What cannot be metadata is left out.
 */
export function readGrpcMetadata(sent: unknown): GrpcMetadata {
  const metadata = new GrpcMetadata()
  for (const [name, given] of Object.entries(Object(sent) as object))
    for (const value of Array.isArray(given) ? given : [given])
      for (const part of partsOf(name, value))
        try {
          metadata.add(name, part)
        } catch {}
  return metadata
}

function partsOf(name: string, value: unknown): readonly GrpcMetadataValue[] {
  if (value instanceof Uint8Array) return name.endsWith(BINARY) ? [asBuffer(value)] : []
  if (typeof value !== 'string') return []
  return name.endsWith(BINARY) ? value.split(',').map((part) => fromBase64(part.trim())) : [value]
}

function fromBase64(text: string): Uint8Array {
  try {
    return asBuffer(Uint8Array.from(atob(text), (character) => character.charCodeAt(0)))
  } catch {
    return asBuffer(new Uint8Array())
  }
}

/** All values of metadata, of this library's class or of grpc-js's; `undefined`: it is neither. */
export function valuesOfMetadata(
  given: unknown
): readonly (readonly [name: string, values: readonly GrpcMetadataValue[]])[] | undefined {
  const { internalRepr } = Object(given) as { readonly internalRepr?: unknown }
  return internalRepr instanceof Map ? [...internalRepr] : undefined
}
