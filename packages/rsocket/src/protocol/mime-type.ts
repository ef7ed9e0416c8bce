/** MIME types that this library uses. */

/** The MIME types that this library reads or writes. */
export const MimeType = {
  JSON: 'application/json',
  BYTES: 'application/octet-stream',
  ROUTING: 'message/x.rsocket.routing.v0',
  COMPOSITE_METADATA: 'message/x.rsocket.composite-metadata.v0',
  DATA_MIME_TYPE: 'message/x.rsocket.mime-type.v0',
  ACCEPT_MIME_TYPES: 'message/x.rsocket.accept-mime-types.v0',
  AUTHENTICATION: 'message/x.rsocket.authentication.v0',
  /** A MIME type of this library: the headers of an answer. */
  ANSWER_HEADERS: 'application/vnd.elysia-microservices.answer-headers',
  /** A MIME type of this library: see `going-away.ts`. */
  GOING_AWAY: 'application/vnd.elysia-microservices.going-away'
} as const

/** The numbers of the MIME types (Extensions/WellKnownMimeTypes.md). */
const NUMBERS: Readonly<Record<string, number>> = {
  [MimeType.JSON]: 0x05,
  [MimeType.BYTES]: 0x06,
  [MimeType.DATA_MIME_TYPE]: 0x7a,
  [MimeType.ACCEPT_MIME_TYPES]: 0x7b,
  [MimeType.AUTHENTICATION]: 0x7c,
  [MimeType.ROUTING]: 0x7e,
  [MimeType.COMPOSITE_METADATA]: 0x7f
}
const NAMES = new Map(Object.entries(NUMBERS).map(([name, id]) => [id, name]))

/** The number of a MIME type; `undefined` if it has no number, or a number that is not known here. */
export function mimeTypeId(name: string): number | undefined {
  return Object.hasOwn(NUMBERS, name) ? NUMBERS[name] : undefined
}

/** The MIME type with this number; `undefined` if the number is not known here. */
export function mimeTypeOfId(id: number): string | undefined {
  return NAMES.get(id)
}
