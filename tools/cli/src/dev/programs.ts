/** Finds programs of this machine, and packages of a project. */
import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'

/** The folders into which Debian installs servers, and which are only on root's PATH. */
const SERVERS = '/usr/sbin'

/** The folders in which programs are looked for: those of the project's packages, the PATH, and Debian's for servers. */
export function programFolders(root: string): string[] {
  return [
    ...foldersAbove(root).map((folder) => join(folder, 'node_modules', '.bin')),
    ...(process.env['PATH'] ?? '').split(delimiter),
    SERVERS
  ].filter((folder) => folder !== '' && existsSync(folder))
}

/** The path of the first of several programs that exists; `undefined` if none does. */
export function findProgram(names: readonly string[], folders: readonly string[]): string | undefined {
  for (const name of names)
    for (const folder of folders) {
      const file = join(folder, name)
      if (isProgram(file)) return file
    }
  return undefined
}

/** A folder and all folders above it. */
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
