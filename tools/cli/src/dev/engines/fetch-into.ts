import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Fetches a program into a folder. The program is fetched into a temporary folder first, so that an incomplete program
 * is never used.
 * @param folder the folder of all fetched programs
 * @param name the name of this program's folder
 * @param fetch fills the folder `package` in the given temporary folder
 */
export async function fetchInto(
  folder: string,
  name: string,
  fetch: (part: string) => Promise<void>
): Promise<void> {
  mkdirSync(folder, { recursive: true })
  const part = mkdtempSync(join(folder, 'part-'))
  try {
    await fetch(part)
    const place = join(folder, name)
    if (!existsSync(place)) renameSync(join(part, 'package'), place)
  } finally {
    rmSync(part, { recursive: true, force: true })
  }
}
