/** Starts a process like this one: the same program, arguments and options of the runtime. */
import type { ChildProcess } from 'node:child_process'
import { OptionError } from '@elysia-microservices/transport/kit'
import { UNDER_BUN } from './role.ts'

/** Starts a process like this one, with these variables added to its environment. */
export type Launch = (environment: Record<string, string>) => ChildProcess

/** The path of the program inside an executable made by `bun build --compile`. */
const IN_EXECUTABLE = /^(\/\$bunfs\/|[A-Z]:[\\/]~BUN[\\/])/

/**
 * Starts workers in the way of this runtime. Node's cluster shares listening ports among the processes it has started.
 * Bun 1.4 cannot hand connections over, so there workers are ordinary processes, and the kernel spreads connections.
 * @throws {OptionError} this process is a worker of the program's own use of `node:cluster`
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
