/** Which records of a partition are read: the isolation levels of Kafka's protocol. */
export const Isolation = {
  /** All records, as soon as they are stored. */
  uncommitted: 0,
  /** No record of an aborted transaction, and nothing behind the beginning of an open one. */
  committed: 1
} as const

export type Isolation = (typeof Isolation)[keyof typeof Isolation]
