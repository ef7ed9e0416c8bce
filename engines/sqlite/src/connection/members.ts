/** The handlers that share the events of a group in this process. */
import type { Logger } from '@elysia-microservices/transport/kit'
import type { TakenEvent } from '../log/event.ts'
import type { Group } from '../log/groups.ts'

/** Gets the events of a group: the handler of one service. */
export interface Member {
  readonly logger: Logger
  /** Number of further events that it takes now. */
  readonly room: number
  deliver(events: readonly TakenEvent[]): void
}

/** A group that has handlers in this process. */
export interface Working {
  readonly group: Group
  readonly members: Member[]
  /** The member that gets the next event. */
  turn: number
}

/** The members that get events: one has all of an ordered group, because events of another one could overtake. */
function takers({ group, members }: Working): readonly Member[] {
  return group.ordered ? members.slice(0, 1) : members
}

/** Number of events that the members take now. */
export function roomOf(working: Working): number {
  return takers(working).reduce((sum, { room }) => sum + Math.max(0, room), 0)
}

/** Passes events to the members in turn, each as many as it has room for. */
export function deliver(working: Working, events: readonly TakenEvent[]): void {
  const members = takers(working)
  const shares = members.map(() => [] as TakenEvent[])
  const rooms = members.map(({ room }) => room)
  for (const event of events) {
    // A handler that has just run may have taken the room of all: a service that it stops takes nothing more.
    for (let others = members.length; others > 1; others--)
      if ((rooms[working.turn % members.length] as number) <= 0) working.turn++
    const at = working.turn++ % members.length
    ;(shares[at] as TakenEvent[]).push(event)
    rooms[at] = (rooms[at] as number) - 1
  }
  for (const [at, share] of shares.entries()) if (share.length > 0) members[at]?.deliver(share)
}
