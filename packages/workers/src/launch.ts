/** Starts worker processes with the program, arguments and runtime options of this process. */
import type { ChildProcess } from 'node:child_process'
import { OptionError } from '@elysia-microservices/transport/kit'
import { UNDER_BUN } from './role.ts'

/** Starts another process of this program, with these variables added to its environment. */
export type Launch = (environment: Record<string, string>) => ChildProcess

/** The path of the program inside an executable made by `bun build --compile`. */
const IN_EXECUTABLE = /^(\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/

/**
 * Returns the function that starts workers on this runtime. Node's cluster shares listening ports among the
 * processes that cluster has started. Bun 1.4 cannot hand connections over to another process, so Bun's workers are
 * ordinary processes and the kernel spreads connections over them.
 * @throws {OptionError} this process is already a worker, because the program itself uses `node:cluster`
 */
export async function launcher(): Promise<Launch> {
  if (UNDER_BUN) {
    const { spawn } = await import('node:child_process')
    const [, program = '', ...args] = process.argv
    const all = [...process.execArgv, ...(IN_EXECUTABLE.test(program) ? [] : [program]), ...args]
    return (environment) =>
      spawn(process.execPath, all, {
        env: { ...process.env, ...environment },
        stdio: ['inherit', 'inherit', 'inherit', 'ipc']
      })
  }
  const { default: cluster } = await import('node:cluster')
  if (!cluster.isPrimary) {
    throw new OptionError(
      'options.workers',
      'options.workers cannot be used in a worker of node:cluster: let either the program or the service start the processes'
    )
  }
  return (environment) => cluster.fork(environment).process
}
