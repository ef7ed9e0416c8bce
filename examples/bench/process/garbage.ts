/** A full garbage collection, so that what remains in memory is what is still needed. */
import { setTimeout as wait } from 'node:timers/promises'
import { currentRuntime } from './runtime.ts'

/** Milliseconds between two collections: what the first one finalizes, the second one frees. */
const SETTLE = 50

/** @returns `false` if this process cannot: Node can only with `--expose-gc` */
export async function collectGarbage(): Promise<boolean> {
  const collect = currentRuntime === 'bun' ? () => Bun.gc(true) : globalThis.gc
  if (collect === undefined) return false
  collect()
  await wait(SETTLE)
  collect()
  return true
}
