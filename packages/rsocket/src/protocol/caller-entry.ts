/** The name of a client in the metadata of SETUP: an entry of this library, which other servers ignore. */
import { type ByteWriter, callerName, readCallerName, text } from '@elysia-microservices/transport/kit'
import { beginEntry, endEntry } from './composite-metadata.ts'
import { ownEntry } from './own-entries.ts'
import type { Setup } from './setup.ts'

/** A MIME type of this library. It is not in `MimeType`, because no web page needs it. */
const CALLER = 'application/vnd.elysia-microservices.caller'

/** Adds the name of the client, or else the name of its process, to the metadata of SETUP. */
export function writeCaller(out: ByteWriter, own: string | undefined): void {
  const name = callerName(own)
  if (name !== undefined) writeName(out, name)
}

/** Adds a name to the metadata of SETUP. */
export function writeName(out: ByteWriter, name: string): void {
  const entry = beginEntry(out, CALLER)
  out.utf8(name)
  endEntry(out, entry)
}

/** Reads the name of a client; `undefined` if its SETUP has no readable name. */
export function callerOf(setup: Setup): string | undefined {
  const content = ownEntry(setup, CALLER)
  return content && readCallerName(text.read(content, 0, content.length))
}
