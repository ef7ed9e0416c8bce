/** Collects all garbage, so that only memory in use remains. */
import { setTimeout as wait } from 'node:timers/promises'
import { currentRuntime } from './runtime.ts'

/** Milliseconds between two collections: the second one frees what the first one has finalized. */
const SETTLE = 50

/** @returns `false` if this process cannot collect garbage: Node needs `--expose-gc` */
export async function collectGarbage(): Promise<boolean> {
  const collect = currentRuntime === 'bun' ? () => Bun.gc(true) : globalThis.gc
  if (collect === undefined) return false
  collect()
  await wait(SETTLE)
  collect()
  return true
}
