/**
 * Pins server and client to separate processor cores, so that neither slows down the other. Only on Linux with
 * `taskset`.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** The cores for server and client. */
export interface Cores {
  readonly server: number
  readonly client: number
}

/** Two cores that this process may use; `undefined`: there are not two, or the process cannot be pinned. */
export function separateCores(): Cores | undefined {
  const [server, client] = allowedCpus()
  if (server === undefined || client === undefined || taskset('--version') !== 0) return undefined
  return { server, client }
}

/** Keeps this process on one core until the returned function is called. */
export function pinSelf(cpu: number): () => void {
  const all = allowedCpus().join(',')
  const pin = (cpus: string) => taskset('-a', '-c', '-p', cpus, String(process.pid))
  pin(String(cpu))
  return () => pin(all)
}

function taskset(...given: readonly string[]): number | null {
  return spawnSync('taskset', given, { stdio: 'ignore' }).status
}

/** Reads the kernel's notation: `0-2,5` means 0, 1, 2, 5. */
function allowedCpus(): number[] {
  try {
    const list = /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? ''
    return list.split(',').flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number)
      return Array.from({ length: last - first + 1 }, (_, n) => first + n)
    })
  } catch {
    return []
  }
}
