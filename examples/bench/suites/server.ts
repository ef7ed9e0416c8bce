/** The server of a measurement: started with its work, with all its processes. */
import { spawnSync } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { BenchError } from '../errors.ts'
import { BENCH_FOLDER } from '../process/folder.ts'
import { which } from '../process/runtime.ts'
import { ServerProcess } from '../process/server-process.ts'
import type { SuiteOptions } from './options.ts'

const FIBER = join(BENCH_FOLDER, 'suites', 'servers', 'fiber')
const BINARY = join(BENCH_FOLDER, '.fiber', 'fiber')

/** Why Fiber cannot be measured on this machine; `undefined`: it can. Builds Fiber if necessary. */
export function obstacleToFiber(): string | undefined {
  if (isBuilt()) return undefined
  if (which('go') === undefined) return 'there is no `go` on the PATH to build Fiber with'
  const { status, stderr } = spawnSync('go', ['build', '-o', BINARY, '.'], { cwd: FIBER, encoding: 'utf8' })
  if (status === 0) return undefined
  return `\`go build\` of suites/servers/fiber failed: ${stderr.trim().split('\n').at(-1)}`
}

const isBuilt = (): boolean =>
  existsSync(BINARY) &&
  ['main.go', 'go.mod'].every((file) => statSync(join(FIBER, file)).mtimeMs < statSync(BINARY).mtimeMs)

/** @throws BenchError if something that must be built first cannot be built */
export function build({ runtime }: Pick<SuiteOptions, 'runtime'>): void {
  const obstacle = runtime === 'go' ? obstacleToFiber() : undefined
  if (obstacle !== undefined) throw new BenchError(obstacle)
}

/** @throws BenchError if the server does not start */
export async function startServer(
  { target, runtime, workload, suite, port, workers }: SuiteOptions,
  cpu: number | string | null,
  database: string | undefined
): Promise<ServerProcess> {
  return ServerProcess.start({
    program: target.server,
    runtime: runtime === 'go' ? 'bun' : runtime,
    ...(runtime === 'go' && { command: [BINARY] }),
    host: HOST,
    port,
    cpu,
    quiet: true,
    flags: [
      ...(suite === 'http' || suite === 'pairs' ? [`--workload=${workload}`] : []),
      ...(database === undefined ? [] : [`--database=${database}`]),
      ...(suite === 'db' && workload === 'slow' ? ['--slow'] : []),
      ...(target.inFlight === undefined ? [] : [`--in-flight=${target.inFlight}`]),
      ...(workers === 1 ? [] : [`--workers=${workers}`])
    ]
  })
}

export const HOST = '127.0.0.1'
