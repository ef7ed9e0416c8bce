/** What the server tells the page, as long as the page is open. */
import type { Overview, Topics, Update } from '../protocol.ts'
import { type History, withSample } from './history.ts'

/** What the page shows. */
export interface Shown {
  readonly connection: 'connecting' | 'live' | 'lost'
  readonly overview: Overview | undefined
  readonly history: ReadonlyMap<string, History>
  /** What the sources of screens have told last. */
  readonly topics: Partial<Topics>
}

/** What there is before the server has told anything. */
export const NOTHING_YET: Shown = {
  connection: 'connecting',
  overview: undefined,
  history: new Map(),
  topics: {}
}

/** Milliseconds until a refused connection is tried again. A lost one the browser tries again by itself. */
const AGAIN = 3_000

/** Follows the updates at a URL, for ever. @param show is called with each change */
export function follow(url: string, show: (shown: Shown) => void): void {
  let shown = NOTHING_YET
  const change = (part: Partial<Shown>) => {
    shown = { ...shown, ...part }
    show(shown)
  }
  const connect = () => {
    const source = new EventSource(url)
    source.onopen = () => change({ connection: 'live' })
    source.onmessage = ({ data }) => {
      const update = JSON.parse(data as string) as Update
      change({ ...changeOf(shown, update), connection: 'live' })
    }
    source.onerror = () => {
      change({ connection: 'lost' })
      if (source.readyState !== EventSource.CLOSED) return
      setTimeout(connect, AGAIN)
    }
  }
  connect()
}

function changeOf({ history, topics }: Shown, update: Update): Partial<Shown> {
  if ('overview' in update) return { overview: update.overview }
  if ('sample' in update) return { history: withSample(history, update.sample) }
  return { topics: { ...topics, ...update.topics } }
}
