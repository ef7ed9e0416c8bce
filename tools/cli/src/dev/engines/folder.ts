/** The folders for engines' data, and for files with events. */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import type { EngineName } from '../config.ts'

/**
 * The folder of an engine's data: within the project, ignored by git. If this process runs as root, PostgreSQL's
 * data are elsewhere, because PostgreSQL's user may have no access to folders below root's home.
 */
export function dataFolder(name: EngineName, root: string): string {
  if (name === 'postgres' && userInfo().uid === 0) {
    const project = createHash('sha256').update(root).digest('hex').slice(0, 12)
    return join(tmpdir(), `elysia-microservices-postgres-${project}`)
  }
  return join(ownFolder(root), name)
}

/** The folder of `dev` within the project, which git ignores. It is created if it is missing. */
export function ownFolder(root: string): string {
  const folder = join(root, '.elysia-microservices')
  mkdirSync(folder, { recursive: true })
  const ignored = join(folder, '.gitignore')
  if (!existsSync(ignored)) writeFileSync(ignored, '*\n')
  return folder
}
