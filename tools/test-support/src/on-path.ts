/** Looks for programs on the PATH. */
import { accessSync, constants } from 'node:fs'
import { delimiter, resolve } from 'node:path'

/**
 * Whether a program can be started by its name or path. Nothing is started to find that out: that takes time, and
 * users of Bun have seen `spawnSync` never return on a busy machine (oven-sh/bun#34069).
 */
export function isOnPath(program: string): boolean {
  const folders = program.includes('/') ? [''] : (process.env['PATH'] ?? '').split(delimiter)
  return folders.some((folder) => isExecutable(resolve(folder, program)))
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}
