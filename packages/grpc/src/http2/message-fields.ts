/**
 * Whether the fields of a message are those that a request, a response or trailers must have. A message that breaks these
 * rules must be refused, because others would read it in another way. RFC 9113, sections 8.1 to 8.3.
 */
import { type Field, FieldKind } from './hpack/field.ts'

const STATUS = /^[1-5]\d\d$/
const CONTENT_LENGTH = /^\d{1,15}$/

/** Returns what is wrong with the fields of a request; `undefined` if nothing is. */
export function wrongRequest(fields: readonly Field[]): string | undefined {
  let method: string | undefined
  let scheme: string | undefined
  let path: string | undefined
  let authority: string | undefined
  let isBehind = false
  for (const { name, value, kind } of fields) {
    if (kind === FieldKind.REGULAR) isBehind = true
    else if (kind === FieldKind.MALFORMED) return 'a field is malformed'
    else if (isBehind) return 'a pseudo field stands behind others'
    else if (name === ':method' && method === undefined) method = value
    else if (name === ':scheme' && scheme === undefined) scheme = value
    else if (name === ':path' && path === undefined) path = value
    else if (name === ':authority' && authority === undefined) authority = value
    else return 'a pseudo field is unknown or there twice'
  }
  if (method === 'CONNECT')
    return authority === undefined || scheme !== undefined || path !== undefined
      ? 'CONNECT has the wrong pseudo fields'
      : undefined
  if (!method || !scheme || !path) return 'a pseudo field is missing'
  return undefined
}

/** Returns what is wrong with the fields of a response; `undefined` if nothing is. */
export function wrongResponse(fields: readonly Field[]): string | undefined {
  let status: string | undefined
  let isBehind = false
  for (const { name, value, kind } of fields) {
    if (kind === FieldKind.REGULAR) isBehind = true
    else if (kind === FieldKind.MALFORMED) return 'a field is malformed'
    else if (isBehind || name !== ':status' || status !== undefined)
      return 'a pseudo field is unknown, there twice or behind others'
    else status = value
  }
  return status !== undefined && STATUS.test(status) ? undefined : 'there is no status'
}

/** Returns what is wrong with trailers; `undefined` if nothing is. */
export function wrongTrailers(fields: readonly Field[]): string | undefined {
  for (const { kind } of fields)
    if (kind !== FieldKind.REGULAR) return 'trailers have a malformed or pseudo field'
  return undefined
}

/** The status of a response, such as `200`, whose fields are right. */
export function statusOf(fields: readonly Field[]): number {
  return Number(fields[0]?.value)
}

/** The length of the body that the fields promise; -1 if they promise none, and `undefined` if they are wrong. */
export function contentLengthOf(fields: readonly Field[]): number | undefined {
  let length = -1
  for (const { name, value } of fields) {
    if (name !== 'content-length') continue
    if (!CONTENT_LENGTH.test(value) || (length !== -1 && length !== Number(value))) return undefined
    length = Number(value)
  }
  return length
}
