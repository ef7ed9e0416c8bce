/** Programs of this machine, and packages of a project. */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

/** Where Debian puts servers, and where the PATH of a user who is not root does not lead. */
const SERVERS = '/usr/sbin'

/** Folders with programs: those that packages of a project bring, those on the PATH, and Debian's of servers. */
export function programFolders(root: string): string[] {
  return [
    ...foldersAbove(root).map((folder) => join(folder, 'node_modules', '.bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
    SERVERS
  ].filter((folder) => folder !== '' && existsSync(folder))
}

/** The path of the first of several programs that is there; `undefined` if none is. */
export function findProgram(names: readonly string[], folders: readonly string[]): string | undefined {
  for (const name of names)
    for (const folder of folders) {
      const file = join(folder, name)
      if (isProgram(file)) return file
    }
  return undefined
}

/** A folder, and all above it. */
export function foldersAbove(folder: string): string[] {
  const above = dirname(folder)
  return above === folder ? [folder] : [folder, ...foldersAbove(above)]
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return statSync(file).isFile()
  } catch {
    return false
  }
}
