/** One field (header) of a message, and whether its name and value may be in HTTP/2. RFC 9113, section 8.2. */

/** The kinds of fields. */
export const FieldKind = { REGULAR: 0, PSEUDO: 1, MALFORMED: 2 } as const

/** A received field. Names and values have one character for each byte. */
export interface Field {
  readonly name: string
  readonly value: string
  /** One of `FieldKind`. Found once for each entry of a table, because most fields of a connection come from there. */
  readonly kind: number
}

/** Bytes that a table, or a list of fields, counts for each field beside its name and value. RFC 7541, section 4.1. */
const OVERHEAD = 32
const NAME = /^:?[!#$%&'*+\-.^_`|~0-9a-z]+$/
const FORBIDDEN_IN_VALUE = /[\0\r\n]|^[ \t]|[ \t]$/
/** Fields that belong to a connection of HTTP/1.1. */
const OF_CONNECTION: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade'
])

/** Makes a field. */
export function fieldOf(name: string, value: string): Field {
  return { name, value, kind: kindOf(name, value) }
}

function kindOf(name: string, value: string): number {
  if (!NAME.test(name) || FORBIDDEN_IN_VALUE.test(value)) return FieldKind.MALFORMED
  if (name.startsWith(':')) return FieldKind.PSEUDO
  if (OF_CONNECTION.has(name) || (name === 'te' && value !== 'trailers')) return FieldKind.MALFORMED
  return FieldKind.REGULAR
}

/** The size of a field, as HPACK and SETTINGS_MAX_HEADER_LIST_SIZE count it. */
export function sizeOf(name: string, value: string): number {
  return name.length + value.length + OVERHEAD
}

/** The received fields of one message. Above its limits no field is kept, while HPACK reads on. */
export class FieldList {
  readonly fields: Field[] = []
  readonly #maxSize: number
  readonly #maxFields: number
  /** All that were added, also those that are not kept. */
  #size = 0
  #count = 0

  constructor(maxSize: number, maxFields: number) {
    this.#maxSize = maxSize
    this.#maxFields = maxFields
  }

  /** Whether a limit was passed. */
  get isTooLarge(): boolean {
    return this.#size > this.#maxSize || this.#count > this.#maxFields
  }

  /** How often the limits fit into what was added: 0 while they are kept. A few bytes of HPACK can name many fields. */
  get excess(): number {
    if (!this.isTooLarge) return 0
    return Math.max(1, Math.floor(Math.max(this.#size / this.#maxSize, this.#count / this.#maxFields)))
  }

  /** Adds a field. */
  add(field: Field): void {
    this.#size += sizeOf(field.name, field.value)
    this.#count++
    if (!this.isTooLarge) this.fields.push(field)
    else if (this.fields.length > 0) this.fields.length = 0
  }
}
