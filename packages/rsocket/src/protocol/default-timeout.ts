/**
 * The timeout of the calls of a client, in the metadata of SETUP. A call with this timeout need not tell it. Told with
 * each request, it costs a server some 6 % of its speed.
 */
import { type ByteWriter, text } from '@elysia-microservices/transport/kit'
import { beginEntry, endEntry } from './composite-metadata.ts'
import { ownEntry } from './own-entries.ts'
import type { Setup } from './setup.ts'

/** A MIME type of this library. It is not in `MimeType`, because no web page needs it. */
const TIMEOUT = 'application/vnd.elysia-microservices.timeout'

/** Adds the timeout of calls without their own to the metadata of SETUP. @param timeout milliseconds; 0: no limit */
export function writeDefaultTimeout(out: ByteWriter, timeout: number): void {
  const entry = beginEntry(out, TIMEOUT)
  out.utf8(String(Math.ceil(timeout)))
  endEntry(out, entry)
}

/** Reads the timeout of a client's calls in milliseconds; `undefined` if there is none. */
export function defaultTimeoutOf(setup: Setup): number | undefined {
  const content = ownEntry(setup, TIMEOUT)
  const told = content === undefined ? '' : text.read(content, 0, content.length)
  return /^[1-9]\d{0,14}$/.test(told) ? Number(told) : undefined
}
