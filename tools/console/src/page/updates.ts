/** Receives the server's updates as long as the page is open. */
import type { Overview, Topics, Update } from '../protocol.ts'
import { type History, withoutThoseGone, withSample } from './history.ts'
import { server } from './server.ts'

/** The state of the page. */
export interface Shown {
  readonly connection: 'connecting' | 'live' | 'lost'
  readonly overview: Overview | undefined
  readonly history: ReadonlyMap<string, History>
  /** The last values of the sources of all screens. */
  readonly topics: Partial<Topics>
}

/** The state before the server's first update. */
export const NOTHING_YET: Shown = {
  connection: 'connecting',
  overview: undefined,
  history: new Map(),
  topics: {}
}

/** Milliseconds after which the page asks a server again that has failed. */
const AGAIN = 1_000

/** The id of the service that is shown with all details, and the controller that ends the current stream of updates. */
let looked: string | undefined
let reading = new AbortController()

/** Asks the server for all details of another service from now on, or of none. */
export function lookAt(service: string | undefined): void {
  if (service === looked) return
  looked = service
  reading.abort()
}

/** Follows the server's updates forever. @param show called with each change */
export async function follow(show: (shown: Shown) => void): Promise<never> {
  let shown = NOTHING_YET
  const change = (part: Partial<Shown>) => {
    shown = { ...shown, ...part }
    show(shown)
  }
  while (true) {
    const service = looked
    reading = new AbortController()
    try {
      for await (const update of server.stream('updates', { service }, { signal: reading.signal }))
        change({ ...changeOf(shown, update), connection: 'live' })
    } catch {}
    if (service !== looked) continue
    change({ connection: 'lost' })
    await new Promise((resolve) => setTimeout(resolve, AGAIN))
  }
}

function changeOf({ history, topics }: Shown, update: Update): Partial<Shown> {
  if ('overview' in update)
    return { overview: update.overview, history: withoutThoseGone(history, update.overview) }
  if ('sample' in update) return { history: withSample(history, update.sample) }
  return { topics: { ...topics, ...update.topics } }
}
