/** A handler as the turns of its process know it. */
import type { TakenEvent } from './event.ts'

/** A handler that gets events. */
export interface Taker {
  readonly groupId: number
  readonly pattern: string
  readonly isOrdered: boolean
  /** Its handler acknowledges events in transactions. */
  readonly isTransactional: boolean
  /** Number of further events that it wants now. */
  readonly room: number
  /** Most events that come back in one batch. */
  readonly mostBack: number
  deliver(event: TakenEvent): void
  /** Other processes may have these events by now. */
  lost(events?: readonly TakenEvent[]): void
  setFigures(lag: number, isPaused: boolean): void
}
