/** The input and output of scenarios. The torture suite injects faults and counts the outcomes of requests. */

/** The length of a run: `short` is for every test run (all scenarios in less than 5 minutes), `long` is on demand. */
export type Length = 'short' | 'long'

export interface Circumstances {
  readonly length: Length
  /** The minutes of the soak. Default: by `length`. */
  readonly soakMinutes?: number | undefined
  /** Shows the progress to a waiting person. */
  progress(text: string): void
}

/** One row of the table. A value that was not counted is absent; a value that was counted and never happened is 0. */
export interface Row {
  /** The fault, such as `server killed with SIGKILL 50 times under load`. */
  readonly scenario: string
  /** The library of the server: ours or NestJS. */
  readonly server: 'ours' | 'nest'
  /** How many faults were injected: kills, cuts, hostile peers, mutated frames. */
  readonly faults: number
  /** How many requests were made. */
  readonly requests: number
  /** How many requests succeeded. */
  readonly succeeded: number
  /** How many requests failed with a typed error. */
  readonly failed: number
  /** How many requests ended with another error, or with the answer of another request. */
  readonly lost: number
  /** How many requests were settled twice, or run twice by a handler although no request may run twice. */
  readonly doubled: number
  /** How many requests had not settled long after their time limit. */
  readonly hung: number
  /** The longest time from the restart of the server to the next success, in milliseconds. */
  readonly worstRecoveryMs?: number | undefined
  /** The peak memory of the server's process (resident set), in megabytes. */
  readonly peakRssMb?: number | undefined
  /** The memory that the configured limits allow, in megabytes, and what it consists of. */
  readonly rssLimitMb?: number | undefined
  /** A further remark, in a few words. */
  readonly remark?: string | undefined
  /**
   * A sentence for each broken guarantee; an empty list means success. Always empty for `nest`, which has not given
   * these guarantees.
   */
  readonly broken: readonly string[]
}

export interface Scenario {
  /** The name, short and unique; `--only=` accepts it. */
  readonly name: string
  run(circumstances: Circumstances): Promise<readonly Row[]>
}
