/**
 * How a durable handler receives its events at the moment, as one named state, and which state follows what happens.
 * This file does nothing at the server: the consumer does what its new state needs.
 */

export type Reception =
  /** There is no channel, or its queues are still being declared. */
  | 'absent'
  /** The queues are declared, so that events are stored, and none is received: the service has not started yet. */
  | 'ready'
  | 'reading'
  /**
   * An ordered group was paused while handlers run: no event begins, and the turn stays with this process until they
   * have ended. Otherwise another process would get later events first, or at the same time.
   */
  | 'finishing'
  /** An ordered handler gives its turn to other processes: its channel is being closed, and another one opened. */
  | 'yielding'
  | 'paused'
  /** The service stops, and the server has not confirmed yet that it delivers nothing more. */
  | 'stopping'
  | 'stopped'

export type Happening =
  /** A channel is set up, and its group is paused. */
  | 'declared paused'
  | 'declared'
  /** A channel is set up, and the service has not started yet. */
  | 'declared early'
  /** The service has started, and its group is paused. */
  | 'begin paused'
  | 'begin'
  /** The server was asked: the group is paused. */
  | 'paused'
  /** The server was asked: the group is not paused. */
  | 'resumed'
  /** The last running handler has ended. */
  | 'idle'
  /** The channel is lost. */
  | 'lost'
  | 'stop'
  | 'stopped'

type Table = Readonly<Record<Reception, Readonly<Partial<Record<Happening, Reception>>>>>

const ENDS = { stop: 'stopping', stopped: 'stopped' } as const
const OPEN = { ...ENDS, lost: 'absent' } as const
const DECLARED = { declared: 'reading', 'declared paused': 'paused', 'declared early': 'ready' } as const
const READY = { ...OPEN, begin: 'reading', 'begin paused': 'paused' } as const

const PLAIN: Table = {
  absent: { ...ENDS, ...DECLARED },
  ready: READY,
  reading: { ...OPEN, paused: 'paused' },
  finishing: {},
  yielding: {},
  paused: { ...OPEN, resumed: 'reading' },
  stopping: { stopped: 'stopped' },
  stopped: {}
}

const ORDERED: Table = {
  absent: { ...ENDS, ...DECLARED },
  ready: READY,
  reading: { ...OPEN, paused: 'finishing' },
  finishing: { ...OPEN, resumed: 'reading', idle: 'yielding' },
  // A group that is resumed meanwhile is read again over the next channel.
  yielding: OPEN,
  paused: { ...OPEN, resumed: 'reading' },
  stopping: { stopped: 'stopped' },
  stopped: {}
}

/** The state that follows; the same state, if what has happened means nothing in it. */
export function receptionAfter(state: Reception, happening: Happening, isOrdered: boolean): Reception {
  return (isOrdered ? ORDERED : PLAIN)[state][happening] ?? state
}
