/** Sources that never end by themselves, whose clean-up does what it is told. */
import { finalize, interval, NEVER, Observable } from 'rxjs'
import { make, type Recipe } from './recipes.ts'

/** Kinds of them. */
export const ENDLESS = ['interval', 'subscription', 'generator', 'async generator', 'iterator'] as const

/** Sources that are at work. */
export const living = new Set<string>()
/** Ends what nobody else ends. */
export const endless = { isOver: false }
/** Counts of the listeners of signals: those that were called, and those that still wait. */
export const heard = { count: 0, waiting: 0 }

let made = 0

/** Makes one. @param teardown what its clean-up throws */
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

/** Never comes to its end, unless it is told. */
export function* forever(): Generator<number> {
  for (let n = 0; !endless.isOver; n++) yield n
}

/** Listens to a signal in every way there is, and waits until it aborts. */
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
