/**
 * Events that only some groups get, although all groups of their pattern receive them: an event that a service has
 * stored for its own handlers.
 */
import type { MessageHeaders } from '../headers.ts'
import type { IncomingMessage } from '../message.ts'

/** In the options of `publish`: the groups that get the event. A symbol, so that no user sets it by a name. */
export const GROUPS: unique symbol = Symbol.for('elysia-microservices.groups') as never

/**
 * The header with the groups. A store keeps it with the others, and needs to know nothing of it. The name is written out,
 * because bundlers of pages leave out only constants.
 */
export const GROUPS_HEADER = 'elysia-groups'

/** The header that directs an event to groups; `undefined`: all groups get it. */
export function directedHeaders(groups: readonly string[] | undefined): MessageHeaders | undefined {
  return groups && { [GROUPS_HEADER]: groups.map(encodeURIComponent).join(' ') }
}

/** Whether a stored event that has come to a group is for other groups only. */
export function isForOthers(message: IncomingMessage): boolean {
  const groups = message.own(GROUPS_HEADER)
  return (
    groups !== undefined && !groups.split(' ').includes(encodeURIComponent(message.delivery?.group ?? ''))
  )
}
