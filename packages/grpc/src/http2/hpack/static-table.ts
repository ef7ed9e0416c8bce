/** The static table of HPACK. RFC 7541, appendix A. */
import { type Field, fieldOf } from './field.ts'

const ENTRIES: readonly (readonly [string, string])[] = [
  [':authority', ''],
  [':method', 'GET'],
  [':method', 'POST'],
  [':path', '/'],
  [':path', '/index.html'],
  [':scheme', 'http'],
  [':scheme', 'https'],
  [':status', '200'],
  [':status', '204'],
  [':status', '206'],
  [':status', '304'],
  [':status', '400'],
  [':status', '404'],
  [':status', '500'],
  ['accept-charset', ''],
  ['accept-encoding', 'gzip, deflate'],
  ['accept-language', ''],
  ['accept-ranges', ''],
  ['accept', ''],
  ['access-control-allow-origin', ''],
  ['age', ''],
  ['allow', ''],
  ['authorization', ''],
  ['cache-control', ''],
  ['content-disposition', ''],
  ['content-encoding', ''],
  ['content-language', ''],
  ['content-length', ''],
  ['content-location', ''],
  ['content-range', ''],
  ['content-type', ''],
  ['cookie', ''],
  ['date', ''],
  ['etag', ''],
  ['expect', ''],
  ['expires', ''],
  ['from', ''],
  ['host', ''],
  ['if-match', ''],
  ['if-modified-since', ''],
  ['if-none-match', ''],
  ['if-range', ''],
  ['if-unmodified-since', ''],
  ['last-modified', ''],
  ['link', ''],
  ['location', ''],
  ['max-forwards', ''],
  ['proxy-authenticate', ''],
  ['proxy-authorization', ''],
  ['range', ''],
  ['referer', ''],
  ['refresh', ''],
  ['retry-after', ''],
  ['server', ''],
  ['set-cookie', ''],
  ['strict-transport-security', ''],
  ['transfer-encoding', ''],
  ['user-agent', ''],
  ['vary', ''],
  ['via', ''],
  ['www-authenticate', '']
]

/** The entries; the first one has the index 1. */
export const STATIC_FIELDS: readonly Field[] = /* @__PURE__ */ ENTRIES.map(([name, value]) =>
  fieldOf(name, value)
)

/** The indices of a name in the static table. */
export interface StaticName {
  /** The index of its first entry. */
  readonly index: number
  /** The index of each value. */
  readonly values: ReadonlyMap<string, number>
}

/** The names of the table. */
export const STATIC_NAMES: ReadonlyMap<string, StaticName> = /* @__PURE__ */ namesOf(ENTRIES)

function namesOf(entries: typeof ENTRIES): Map<string, StaticName> {
  const names = new Map<string, { index: number; values: Map<string, number> }>()
  entries.forEach(([name, value], at) => {
    const known = names.get(name) ?? { index: at + 1, values: new Map() }
    known.values.set(value, at + 1)
    names.set(name, known)
  })
  return names
}
