/**
 * The word of a server that is going away while requests of a client are in flight. ERROR[CONNECTION_CLOSE] would
 * be it, but some libraries take that for the end of their streams. So it is sent last, and clients that say in
 * SETUP that they understand are told early, by METADATA_PUSH: both in composite metadata, by one MIME type.
 */
import { ByteWriter } from '@elysia-microservices/transport/kit'
import { beginEntry, endEntry, readEntries } from './composite-metadata.ts'
import { MimeType } from './mime-type.ts'
import type { Setup } from './setup.ts'

/** Adds to the metadata of SETUP that this client understands. */
export function writeUnderstandsGoingAway(out: ByteWriter): void {
  endEntry(out, beginEntry(out, MimeType.GOING_AWAY))
}

/** Whether a client has said in its SETUP that it understands. */
export function understandsGoingAway({ metadata, metadataMimeType }: Setup): boolean {
  if (metadata === undefined || metadataMimeType !== MimeType.COMPOSITE_METADATA) return false
  try {
    return readEntries(Buffer.from(metadata)).some(({ mimeType }) => mimeType === MimeType.GOING_AWAY)
  } catch {
    // What is wrong with metadata is told to those who wanted something of it: credentials.
    return false
  }
}

/** The metadata of the METADATA_PUSH. @param reason in words */
export function goingAwayMetadata(reason: string): Uint8Array {
  const out = new ByteWriter()
  const entry = beginEntry(out, MimeType.GOING_AWAY)
  out.utf8(reason)
  endEntry(out, entry)
  return out.copyFrom(0)
}

/** How the metadata begins: the length of the MIME type, and its name. */
const BEGINNING = Buffer.from(goingAwayMetadata('').subarray(0, -3))

/** Whether the metadata of a METADATA_PUSH is the word, and not an application's, which may be of any form. */
export function isGoingAway(buffer: Buffer, start: number, end: number): boolean {
  return buffer.subarray(start, Math.min(end, start + BEGINNING.length)).equals(BEGINNING)
}
