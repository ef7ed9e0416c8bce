/** The fates of events, as a turn writes them. */
import type { Settling } from '../connection/turn.ts'
import type { Batch, TakenEvent } from './event.ts'

/** How the life of an event in this process has ended. */
export type Fate = 'done' | 'discarded' | { readonly delay: number } | { readonly reason: string }

/** Events of one line are handled in order; `undefined`: the event keeps no order. */
export function lineOf({ row: { group }, lock }: TakenEvent): string | undefined {
  return lock === null ? undefined : `${group} ${lock}`
}

/** The fates of events by their batches. */
export function settlings(fates: readonly (readonly [TakenEvent, Fate])[]): Settling[] {
  const batches = new Map<Batch, { -readonly [Name in keyof Settling]: unknown[] }>()
  for (const [event, fate] of fates) {
    const { batch, row, attempt, begun, lock } = event
    if (batch.isLost) continue
    const one = batches.get(batch) ?? { batch: [], left: [], back: [], dead: [], discarded: [], over: [] }
    batches.set(batch, one)
    const { position, letter } = row
    if (typeof fate === 'object' && 'delay' in fate)
      one.back.push({ position, letter, attempt: begun, lock, delay: fate.delay })
    else if (letter !== '0') one.over.push(letter)
    if (fate === 'discarded') one.discarded.push({ position, letter })
    if (typeof fate === 'object' && 'reason' in fate) {
      const { pattern, published, id, key, headers, body } = row
      one.dead.push({
        position,
        letter,
        pattern,
        published,
        id,
        key,
        headers,
        body,
        reason: fate.reason,
        attempt
      })
    }
  }
  return [...batches].map(([batch, { back, dead, discarded, over }]) => ({
    batch: batch.id,
    left: [...batch.left].map(({ row: { position, letter }, begun, lock }) => ({
      position,
      letter,
      attempt: begun,
      lock
    })),
    back: back as Settling['back'],
    dead: dead as Settling['dead'],
    discarded: discarded as Settling['discarded'],
    over: over as Settling['over']
  }))
}
