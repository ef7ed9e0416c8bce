/** Reads the figures of a transport, which a user may have written. */
import type { ServerTransport, TransportStats } from './transport.ts'

/**
 * The figures of a server; none if a transport that a user has written does not tell them as it should: it throws, it
 * returns no object, or it returns something that JSON cannot carry.
 */
export function statsOf(server: ServerTransport): TransportStats[] {
  try {
    const stats: unknown = server.stats()
    if (typeof stats !== 'object' || stats === null) return []
    JSON.stringify(stats)
    return [stats as TransportStats]
  } catch {
    return []
  }
}
