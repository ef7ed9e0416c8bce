/** Cases that were once different, with the oracle that found them, and the fault. */
interface Kept {
  readonly of: string
  readonly fault: string
  readonly given: unknown
}

export const KEPT: readonly Kept[] = []
