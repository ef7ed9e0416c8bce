/** Sources that never wait share the turns of the event loop. */
import { nextTurn } from './next-turn.ts'

/** The sources that rest, the longest first. */
const resting: (() => void)[] = []

/**
 * Resolves in a later turn of the event loop, in which no other source goes on. If all of a hundred sources went on in
 * the next turn, that turn would be a hundred times as long as one source's share. A promise, and not a callback,
 * because the caller goes on in its own async context.
 */
export function rest(): Promise<void> {
  return new Promise((resolve) => {
    if (resting.push(resolve) === 1) nextTurn(wake)
  })
}

function wake(): void {
  resting.shift()?.()
  if (resting.length > 0) nextTurn(wake)
}

/** Forgets the sources that rest, as in a new process: for tests that repeat what has happened. */
export function forgetResting(): void {
  resting.length = 0
}
