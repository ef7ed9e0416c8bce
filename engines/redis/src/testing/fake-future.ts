/** The events that wait for their time at a Redis server inside the process. */
import { type Awaited, PASSED, type PlannedBatch, type Stored } from '../driver.ts'
import { fieldsOf } from '../words/frames.ts'
import { idOf } from '../words/keys.ts'
import type { Awaiting, Kept } from './fake-kept.ts'

/** Keeps events until they are due, each id once. */
export function planIn({ future, ids }: Kept, batch: PlannedBatch, now: number): Stored[] {
  const waiting = future.get(batch.pattern) ?? new Map<string, Awaiting>()
  future.set(batch.pattern, waiting)
  return batch.events.map((event, n): Stored => {
    const key = batch.known[n] as string
    const remembered = ids.get(key)
    if (remembered !== undefined && now < remembered.until) return [remembered.position, 1]
    const due = event.time.startsWith('+') ? now + Number(event.time) : Number(event.time)
    if (!event.time.startsWith('+') && due <= now) return ['', PASSED]
    waiting.set(event.id, { due, fields: fieldsOf(event), window: batch.duplicateWindow })
    ids.set(key, { position: '', until: Number.POSITIVE_INFINITY })
    return ['', 0]
  })
}

/** Deletes an event that waits. */
export function cancelIn({ future, ids }: Kept, pattern: string, id: string): boolean {
  const wasThere = future.get(pattern)?.delete(id) === true
  if (wasThere) ids.delete(idOf(pattern, id))
  return wasThere
}

/** The events of a pattern that wait, the soonest first. */
export function awaitedIn({ future }: Kept, pattern: string): Awaited[] {
  return [...(future.get(pattern) ?? [])]
    .map(([id, { due, fields }]) => ({ id, due, fields }))
    .sort((one, other) => one.due - other.due || Buffer.compare(Buffer.from(one.id), Buffer.from(other.id)))
}

/** A part of a list behind an event, which may have gone. */
export function pageOf(all: readonly Awaited[], behind: Awaited | undefined, count: number): Awaited[] {
  const isBehind = ({ id, due }: Awaited) =>
    behind === undefined ||
    due > behind.due ||
    (due === behind.due && Buffer.compare(Buffer.from(id), Buffer.from(behind.id)) > 0)
  return all.filter(isBehind).slice(0, count)
}

/**
 * Stores the events whose time has come.
 * @param add stores one, and returns its position
 * @returns whether there was one
 */
export function fireIn(
  kept: Kept,
  pattern: string,
  now: number,
  add: (fields: readonly string[]) => string
): boolean {
  const waiting = kept.future.get(pattern)
  const fired = awaitedIn(kept, pattern).filter(({ due }) => due <= now)
  for (const { id, fields } of fired) {
    const { window = 0 } = waiting?.get(id) ?? {}
    waiting?.delete(id)
    kept.ids.set(idOf(pattern, id), { position: add(fields), until: now + window })
  }
  return fired.length > 0
}
