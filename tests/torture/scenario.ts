/** The input and output of each scenario. The torture suite injects faults and counts the outcomes of requests. */

/** How long a run may be: `short` is for every test run (all of it under 5 minutes), `long` is on demand. */
export type Length = 'short' | 'long'

export interface Circumstances {
  readonly length: Length
  /** Minutes the soak takes. Default: as `length` says. */
  readonly soakMinutes?: number | undefined
  /** Shows how far it is, for a person who waits. */
  progress(text: string): void
}

/** One row of the table. What was not counted is absent; what was counted and never happened is 0. */
export interface Row {
  /** The fault, such as `server killed with SIGKILL 50 times under load`. */
  readonly scenario: string
  /** The library whose server was under it. */
  readonly server: 'ours' | 'nest'
  /** How many faults were injected: kills, cuts, hostile peers, mutated frames. */
  readonly faults: number
  /** How many requests were made. */
  readonly requests: number
  /** How many of them succeeded. */
  readonly succeeded: number
  /** How many of them failed with a typed error. */
  readonly failed: number
  /** How many of them ended with neither, or with an answer that was not theirs. */
  readonly lost: number
  /** How many were settled, or run by a handler, more than once though that is promised not to happen. */
  readonly doubled: number
  /** How many had not settled long after they had to. */
  readonly hung: number
  /** The longest time from the server being back to the next success, in milliseconds. */
  readonly worstRecoveryMs?: number | undefined
  /** The most memory the server's process held (resident set), in megabytes. */
  readonly peakRssMb?: number | undefined
  /** The memory that the configured limits allow it, in megabytes, and what it consists of, in words. */
  readonly rssLimitMb?: number | undefined
  /** A further remark, in a few words. */
  readonly remark?: string | undefined
  /** Promises that were broken, a sentence each; none is a pass. Always none for `nest`, which promised us nothing. */
  readonly broken: readonly string[]
}

export interface Scenario {
  /** In a few words, unique; `--only=` takes it. */
  readonly name: string
  run(circumstances: Circumstances): Promise<readonly Row[]>
}
