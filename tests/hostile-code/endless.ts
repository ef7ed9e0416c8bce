/** Streams that never end by themselves, and whose clean-up may fail. */
import { finalize, interval, NEVER, Observable } from 'rxjs'
import { make, type Recipe } from './recipes.ts'

/** The kinds of endless streams. */
export const ENDLESS = ['interval', 'subscription', 'generator', 'async generator', 'iterator'] as const

/** The streams that are running. */
export const living = new Set<string>()
/** Set to true to end streams that nobody else ends. */
export const endless = { isOver: false }
/** Counts the listeners of signals that were called, and those that still wait. */
export const heard = { count: 0, waiting: 0 }

let made = 0

/** Creates an endless stream. @param teardown what its clean-up throws */
export function endlessOf(kind: string, teardown: Recipe | undefined): unknown {
  const name = `${kind} ${made++}`
  living.add(name)
  const end = (): unknown => {
    living.delete(name)
    if (teardown === undefined) return undefined
    if (typeof teardown === 'object') return make(teardown)
    throw make(teardown)
  }
  switch (kind) {
    case 'interval':
      return interval(1).pipe(finalize(end))
    case 'silence':
      return NEVER.pipe(finalize(end))
    case 'subscription':
      return new Observable((subscriber) => {
        let n = 0
        const timer = setInterval(() => subscriber.next(n++), 1)
        return () => {
          clearInterval(timer)
          return end() as undefined
        }
      })
    case 'generator':
      return numbers(end)
    case 'async generator':
      return laterNumbers(end)
    default: {
      let n = 0
      const iterator = {
        next: async () => ({ done: false, value: n++ }),
        return: () => end() ?? { done: true },
        [Symbol.asyncIterator]: () => iterator
      }
      return iterator
    }
  }
}

function* numbers(end: () => unknown): Generator<number> {
  try {
    for (let n = 0; ; n++) yield n
  } finally {
    end()
  }
}

async function* laterNumbers(end: () => unknown): AsyncGenerator<number> {
  try {
    for (let n = 0; ; n++) yield n
  } finally {
    await end()
  }
}

/** A generator that runs until `isOver` is set. */
export function* forever(): Generator<number> {
  for (let n = 0; !endless.isOver; n++) yield n
}

/** Adds listeners to a signal in every possible way, and waits until the signal aborts. */
export async function listen(signal: AbortSignal, recipe: Recipe): Promise<void> {
  const throwing = () => {
    throw make(recipe)
  }
  const removed = () => void heard.count++
  signal.addEventListener('abort', throwing)
  signal.addEventListener('abort', removed)
  signal.addEventListener('abort', { handleEvent: throwing })
  signal.addEventListener('abort', async () => throwing())
  signal.onabort = removed
  signal.onabort = throwing
  signal.removeEventListener('abort', removed)
  heard.waiting++
  await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  heard.waiting--
  heard.count++
}
