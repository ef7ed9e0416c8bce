/**
 * Decides which pages may connect. A browser sends the origin of a page, so that a foreign page cannot use the
 * cookies of its visitor.
 */
import { OptionError } from '@elysia-microservices/transport/kit'

/** The origins that may connect. `undefined`: the app's own host; `'*'`: all. */
export type Origins = readonly string[] | '*' | undefined

/** Checks the option `origins`. @throws {OptionError} an origin does not have the form in which browsers send it */
export function checkOrigins(path: string, given: unknown): void {
  if (given === '*') return
  if (!Array.isArray(given)) throw OptionError.expected(path, "a list of origins, or '*' for all", given)
  for (const [index, origin] of given.entries()) {
    const isWritten = typeof origin === 'string' && originOf(origin) === origin
    if (!isWritten)
      throw OptionError.expected(`${path}[${index}]`, "an origin such as 'https://shop.example'", origin)
  }
}

/** Returns the reason why an upgrade is refused; `undefined` if it is accepted. */
export function originRefusal(headers: Headers, allowed: Origins): string | undefined {
  const origin = headers.get('origin')
  if (origin === null) {
    // Browsers always send an Origin. Other programs have no cookies of a visitor, so cookies without an Origin are
    // suspicious.
    return headers.has('cookie') ? 'the request has cookies but no Origin' : undefined
  }
  if (allowed === '*') return undefined
  if (allowed === undefined) {
    const host = headers.get('host')?.toLowerCase()
    if (host !== undefined && hostOf(origin) === host) return undefined
    return `pages of ${origin} may not connect, because the host of this app is ${host}: add the origin to options.origins`
  }
  return allowed.includes(origin)
    ? undefined
    : `pages of ${origin} may not connect: options.origins does not name this origin`
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
