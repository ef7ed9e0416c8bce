/** The metadata that a client of this library sends in SETUP, and before RESUME. */
import { ByteWriter } from '@elysia-microservices/transport/kit'
import { beginEntry, type Credentials, endEntry, writeCredentials } from './composite-metadata.ts'
import { writeUnderstandsGoingAway } from './going-away.ts'
import { MimeType } from './mime-type.ts'

/** @param introduce writes further entries; `undefined`: none, and before RESUME */
export function setupMetadata(
  credentials: Credentials | undefined,
  introduce?: (out: ByteWriter) => void
): Uint8Array {
  const out = new ByteWriter()
  if (credentials !== undefined) {
    const entry = beginEntry(out, MimeType.AUTHENTICATION)
    writeCredentials(out, credentials)
    endEntry(out, entry)
  }
  writeUnderstandsGoingAway(out)
  introduce?.(out)
  const metadata = out.copyFrom(0)
  out.reset()
  return metadata
}
