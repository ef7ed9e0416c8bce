/** The folder of a project. The folder must be empty, so that no file is ever replaced. */
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { UsageError } from './options.ts'

/** How many file names an error lists. */
const LISTED = 3

/**
 * Refuses a folder that has files in it. A new git repository counts as empty.
 * @throws {UsageError} the folder is not empty, or the path is not a folder
 * @throws {Error} the system's error, if the folder cannot be read
 */
export function refuseUnlessEmpty(folder: string): void {
  const names = namesIn(folder).filter((name) => name !== '.git')
  if (names.length === 0) return
  const more = names.length > LISTED ? `, and ${names.length - LISTED} more` : ''
  throw new UsageError(
    `The folder ${folder} is not empty (${names.slice(0, LISTED).join(', ')}${more}): choose another one`
  )
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).sort()
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') return []
    if (code === 'ENOTDIR')
      throw new UsageError(`${folder} is a file, or is inside of a file: choose another folder`)
    throw error
  }
}

/**
 * Writes files into a folder, which is created.
 * @param files texts by their paths
 * @throws {UsageError} the folder is not empty
 * @throws {Error} the system's error, if a file cannot be written or somebody has created it meanwhile
 */
export function writeFiles(folder: string, files: ReadonlyMap<string, string>): void {
  refuseUnlessEmpty(folder)
  for (const [path, text] of files) {
    const file = join(folder, path)
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, text, { flag: 'wx' })
  }
}
