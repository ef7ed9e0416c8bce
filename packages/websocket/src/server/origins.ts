/**
 * Decides which pages may connect. Browsers tell the origin of a page; a page of somebody else must not use its
 * visitor's cookies.
 */
import { OptionError } from '@elysia-microservices/transport/kit'

/** Origins that may connect: `undefined`: the app's own host; `'*'`: all. */
export type Origins = readonly string[] | '*' | undefined

/** @throws {OptionError} an origin is not written as browsers write it */
export function checkOrigins(path: string, given: unknown): void {
  if (given === '*') return
  if (!Array.isArray(given)) throw OptionError.expected(path, "a list of origins, or '*' for all", given)
  for (const [index, origin] of given.entries()) {
    const isWritten = typeof origin === 'string' && originOf(origin) === origin
    if (!isWritten)
      throw OptionError.expected(`${path}[${index}]`, "an origin such as 'https://shop.example'", origin)
  }
}

/** Why an upgrade is refused; `undefined` if it is not. */
export function originRefusal(headers: Headers, allowed: Origins): string | undefined {
  const origin = headers.get('origin')
  if (origin === null) {
    // Browsers always say it. A program has no cookies of a visitor, and one that has is suspicious.
    return headers.has('cookie') ? 'cookies came without an Origin' : undefined
  }
  if (allowed === '*') return undefined
  if (allowed === undefined) {
    const host = headers.get('host')?.toLowerCase()
    if (host !== undefined && hostOf(origin) === host) return undefined
    return `pages of ${origin} may not connect: it is not the host of this app (${host}); name it in options.origins`
  }
  return allowed.includes(origin)
    ? undefined
    : `pages of ${origin} may not connect: options.origins does not name it`
}

function hostOf(origin: string): string | undefined {
  try {
    return new URL(origin).host
  } catch {
    return undefined
  }
}

function originOf(text: string): string | undefined {
  try {
    return new URL(text).origin
  } catch {
    return undefined
  }
}
