/** The common part of all peers with durable events. */

/** The pattern of the event, and the stream that stores it. */
export const PATTERN = 'stored'

/** The number of events that are published before one is awaited: the server would refuse more at a time. */
export const AT_A_TIME = 2_000

/**
 * Publishes this many events, mostly without waiting for each.
 *
 * @param publish publishes without an acknowledgement
 * @param confirmed publishes with an acknowledgement: all events before it are stored by then, too
 */
export async function fillBy(
  count: number,
  publish: () => void,
  confirmed: () => Promise<unknown>
): Promise<void> {
  for (let left = count; left > 0; left -= AT_A_TIME) {
    for (let more = Math.min(left, AT_A_TIME); more > 1; more--) publish()
    await confirmed()
  }
}

/** The pattern of the request for the address of the outbox's database. */
export const DATABASE = 'bench.database'
