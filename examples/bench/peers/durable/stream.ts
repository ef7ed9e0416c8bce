/** Parts that all peers share which store events. */

/** The event, and the stream that stores it. */
export const PATTERN = 'stored'

/** Events that are published before one is waited for: more at a time the server would refuse. */
export const AT_A_TIME = 2_000

/**
 * Publishes so many, mostly without waiting for each.
 *
 * @param publish without an acknowledgement
 * @param confirmed with one: what came before it is stored then, too
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

/** The pattern that is asked for the address of the outbox's database. */
export const DATABASE = 'bench.database'
