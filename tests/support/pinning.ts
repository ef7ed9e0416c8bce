/** Cores of their own for server and client, so that neither takes the other's time. Linux with `taskset` only. */
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** CPUs for both ends. */
export interface Cores {
  readonly server: number
  readonly client: number
}

/** Two CPUs this process may use; `undefined` where there are none, or it cannot be pinned. */
export function separateCores(): Cores | undefined {
  const [server, client] = allowedCpus()
  if (server === undefined || client === undefined || taskset('--version') !== 0) return undefined
  return { server, client }
}

/** Keeps this process on one CPU until the function it returns is called. */
export function pinSelf(cpu: number): () => void {
  const all = allowedCpus().join(',')
  const pin = (cpus: string) => taskset('-a', '-c', '-p', cpus, String(process.pid))
  pin(String(cpu))
  return () => pin(all)
}

function taskset(...given: readonly string[]): number | null {
  return spawnSync('taskset', given, { stdio: 'ignore' }).status
}

/** From the kernel's notation: `0-2,5` is 0, 1, 2, 5. */
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
