/** Reads the entries of this library in the metadata of SETUP. Other servers ignore them. */
import { readEntries } from './composite-metadata.ts'
import { MimeType } from './mime-type.ts'
import type { Setup } from './setup.ts'

/** The content of an entry; `undefined` if the SETUP has none, or has metadata that cannot be read. */
export function ownEntry({ metadata, metadataMimeType }: Setup, name: string): Uint8Array | undefined {
  if (metadata === undefined || metadataMimeType !== MimeType.COMPOSITE_METADATA) return undefined
  try {
    return readEntries(metadata).find(({ mimeType }) => mimeType === name)?.content
  } catch {
    // Metadata that is invalid is refused later, when credentials are read.
    return undefined
  }
}
