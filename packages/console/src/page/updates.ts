/** What the server tells the page, as long as the page is open. */
import type { Overview, Update } from '../protocol.ts'
import { type History, withSample } from './history.ts'

/** What the page shows. */
export interface Shown {
  readonly connection: 'connecting' | 'live' | 'lost'
  readonly overview: Overview | undefined
  readonly history: ReadonlyMap<string, History>
}

/** Milliseconds until a refused connection is tried again. A lost one the browser tries again by itself. */
const AGAIN = 3_000

/** Follows the updates at a URL, for ever. @param show is called with each change */
export function follow(url: string, show: (shown: Shown) => void): void {
  let shown: Shown = { connection: 'connecting', overview: undefined, history: new Map() }
  const change = (part: Partial<Shown>) => {
    shown = { ...shown, ...part }
    show(shown)
  }
  const connect = () => {
    const source = new EventSource(url)
    source.onopen = () => change({ connection: 'live' })
    source.onmessage = ({ data }) => {
      const update = JSON.parse(data as string) as Update
      if ('overview' in update) change({ overview: update.overview, connection: 'live' })
      else change({ history: withSample(shown.history, update.sample), connection: 'live' })
    }
    source.onerror = () => {
      change({ connection: 'lost' })
      if (source.readyState !== EventSource.CLOSED) return
      setTimeout(connect, AGAIN)
    }
  }
  connect()
}
