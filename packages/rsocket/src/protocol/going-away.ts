/**
 * The announcement of a server that goes away while requests of a client are in flight. Some libraries end their streams
 * at ERROR[CONNECTION_CLOSE], so it is sent last. Clients that say in SETUP that they understand it get this early
 * announcement in a METADATA_PUSH. Both use composite metadata with the same MIME type.
 */
import { ByteWriter } from '@elysia-microservices/transport/kit'
import { beginEntry, endEntry, readEntries } from './composite-metadata.ts'
import { MimeType } from './mime-type.ts'
import type { Setup } from './setup.ts'

/** Adds to the metadata of SETUP that this client understands the announcement. */
export function writeUnderstandsGoingAway(out: ByteWriter): void {
  endEntry(out, beginEntry(out, MimeType.GOING_AWAY))
}

/** Whether a client has said in its SETUP that it understands the announcement. */
export function understandsGoingAway({ metadata, metadataMimeType }: Setup): boolean {
  if (metadata === undefined || metadataMimeType !== MimeType.COMPOSITE_METADATA) return false
  try {
    return readEntries(metadata).some(({ mimeType }) => mimeType === MimeType.GOING_AWAY)
  } catch {
    // Invalid metadata is refused where it is needed: for credentials.
    return false
  }
}

/** The metadata of the announcement. @param reason why the server goes away, in words */
export function goingAwayMetadata(reason: string): Uint8Array {
  const out = new ByteWriter()
  const entry = beginEntry(out, MimeType.GOING_AWAY)
  out.utf8(reason)
  endEntry(out, entry)
  return out.copyFrom(0)
}

/** The first bytes of the metadata: the length of the MIME type, and its name. */
const BEGINNING = goingAwayMetadata('').subarray(0, -3)

/** Whether a METADATA_PUSH is the announcement; an application may push metadata of any form. */
export function isGoingAway(buffer: Uint8Array, start: number, end: number): boolean {
  return BEGINNING.length <= end - start && BEGINNING.every((byte, index) => byte === buffer[start + index])
}
