/** Reads the figures of a transport, which a user may have written. */
import type { ServerTransport, TransportStats } from '@elysia-microservices/transport/kit'

/** The figures of a server; none if a transport that a user has written does not tell them as it should. */
export function statsOf(server: ServerTransport): TransportStats[] {
  try {
    const stats: unknown = server.stats()
    return typeof stats === 'object' && stats !== null ? [stats as TransportStats] : []
  } catch {
    return []
  }
}
