/** How brokers recognize a batch that is sent again: by the id of its producer and by a sequence number. */

/** Milliseconds within which all replicas must have stored a batch. */
export const STORED_WITHIN = 10_000

/** The sequence number that follows another one in a partition. */
export function sequenceAfter(sequence: number): number {
  return (sequence + 1) % 2 ** 31
}
