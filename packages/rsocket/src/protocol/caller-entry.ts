/** Name of a client: an entry of our own in the metadata of SETUP, which other servers ignore. */
import { type ByteWriter, callerName, readCallerName, text } from '@elysia-microservices/transport/kit'
import { beginEntry, endEntry, readEntries } from './composite-metadata.ts'
import { MimeType } from './mime-type.ts'
import type { Setup } from './setup.ts'

/** Adds what a client is called, by its own name or its process's, to the metadata of SETUP. */
export function writeCaller(out: ByteWriter, own: string | undefined): void {
  const name = callerName(own)
  if (name === undefined) return
  const entry = beginEntry(out, MimeType.CALLER)
  out.utf8(name)
  endEntry(out, entry)
}

/** The name of a client; `undefined` if its SETUP has none that can be read. */
export function callerOf({ metadata, metadataMimeType }: Setup): string | undefined {
  if (metadata === undefined || metadataMimeType !== MimeType.COMPOSITE_METADATA) return undefined
  try {
    const entry = readEntries(metadata).find(({ mimeType }) => mimeType === MimeType.CALLER)
    return entry && readCallerName(text.read(entry.content, 0, entry.content.length))
  } catch {
    // Invalid metadata is refused where it is needed: for credentials.
    return undefined
  }
}
