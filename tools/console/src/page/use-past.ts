/** The last hour of a service, from the server. */
import { useEffect, useState } from 'preact/hooks'
import type { PastView } from '../protocol.ts'
import { ask } from './server.ts'

/** Milliseconds between two requests. In the meantime the page has its own samples. */
const AGAIN = 30_000

/** An empty record. */
export const NO_PAST: PastView = { times: [], figures: {}, patterns: [] }

/** Requests the last hour of a service, or of one of its patterns, and repeats the request from time to time. */
export function usePast(id: string, pattern: string | undefined): PastView {
  const [found, setFound] = useState<{ readonly of: string; readonly past: PastView } | undefined>()
  const of = `${id} ${pattern ?? ''}`
  useEffect(() => {
    const left = new AbortController()
    const read = () =>
      ask<PastView>('history', { id, ...(pattern !== undefined && { pattern }) }, left.signal).then(
        (past) => setFound({ of, past }),
        // A failed request is ignored: the charts have the page's own samples, and the request will be repeated.
        () => {}
      )
    void read()
    const timer = setInterval(read, AGAIN)
    return () => {
      clearInterval(timer)
      left.abort()
    }
  }, [of])
  return found?.of === of ? found.past : NO_PAST
}
