/**
 * The announcement of a server that goes away while requests of a client are in flight. The standard announcement is
 * ERROR[CONNECTION_CLOSE], but some libraries end their streams when they receive it, so it is sent last. Clients that
 * say in SETUP that they understand it get this early announcement in a METADATA_PUSH. Both use composite metadata with
 * the same MIME type.
 */
import { ByteWriter } from '@elysia-microservices/transport/kit'
import { beginEntry, endEntry } from './composite-metadata.ts'
import { MimeType } from './mime-type.ts'
import { ownEntry } from './own-entries.ts'
import type { Setup } from './setup.ts'

/** Adds an entry to the metadata of SETUP: this client understands the announcement. */
export function writeUnderstandsGoingAway(out: ByteWriter): void {
  endEntry(out, beginEntry(out, MimeType.GOING_AWAY))
}

/** Whether a client has said in its SETUP that it understands the announcement. */
export function understandsGoingAway(setup: Setup): boolean {
  return ownEntry(setup, MimeType.GOING_AWAY) !== undefined
}

/**
 * Makes the metadata of the announcement.
 * @param reason why the server goes away, as text
 */
export function goingAwayMetadata(reason: string): Uint8Array {
  const out = new ByteWriter()
  const entry = beginEntry(out, MimeType.GOING_AWAY)
  out.utf8(reason)
  endEntry(out, entry)
  return out.copyFrom(0)
}

/** The first bytes of the announcement: the length of the MIME type, and its name. */
const BEGINNING = goingAwayMetadata('').subarray(0, -3)

/** Whether a METADATA_PUSH is the announcement. Applications may push metadata of any other form. */
export function isGoingAway(buffer: Uint8Array, start: number, end: number): boolean {
  return BEGINNING.length <= end - start && BEGINNING.every((byte, index) => byte === buffer[start + index])
}
