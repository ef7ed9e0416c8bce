/** Folders for the files of servers and tests. They are removed when the process ends. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const folders: string[] = []

// One listener for all folders: Node takes more than ten listeners for a leak.
process.once('exit', () => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})

/** Creates an empty folder for this process. @param what the beginning of its name */
export function ownFolder(what: string): string {
  const folder = mkdtempSync(join(tmpdir(), `${what}-`))
  folders.push(folder)
  return folder
}
