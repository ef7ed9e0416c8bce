/** Messages that wait for their time in a stream of the server inside the process, and messages that end by themselves. */
import { type Clock, routeMatches } from '@elysia-microservices/transport/kit'
import type { StreamConfig } from '@nats-io/jetstream'
import { type MsgHdrs, headers as newHeaders } from '@nats-io/transport-node'
import { TOLD } from '../durable/names.ts'

/** The system's timers take no longer times. */
const LONGEST = 2 ** 31 - 1
const AT = '@at '

/** A refusal: the number of the error, and the words. */
export type Refused = readonly [code: number, description: string]

/** Why a stream does not store a message that is to wait; `undefined`: it does. */
export function whyNoSchedule(
  { allow_msg_schedules, subjects }: StreamConfig,
  headers: MsgHdrs | undefined
): Refused | undefined {
  const schedule = headers?.get(TOLD.schedule) ?? ''
  if (schedule === '') return undefined
  if (allow_msg_schedules !== true) return [10_188, 'message schedules is disabled']
  if (!schedule.startsWith(AT) || Number.isNaN(Date.parse(schedule.slice(AT.length))))
    return [10_189, 'message schedules pattern is invalid']
  const target = headers?.get(TOLD.target) ?? ''
  return subjects.some((one) => routeMatches(one, target))
    ? undefined
    : [10_190, 'message schedules target is invalid']
}

/** Does something at the time at which a message is to be delivered, if there is one. */
export function atItsTime(clock: Clock, headers: MsgHdrs | undefined, deliver: () => void): void {
  const schedule = headers?.get(TOLD.schedule) ?? ''
  if (schedule !== '') at(clock, Date.parse(schedule.slice(AT.length)), deliver)
}

/** Does something at the time at which a message ends, if there is one. */
export function atItsEnd(clock: Clock, headers: MsgHdrs | undefined, end: () => void): void {
  const ttl = headers?.get(TOLD.ttl) ?? ''
  if (ttl !== '') at(clock, clock.now() + Number.parseInt(ttl, 10) * 1_000, end)
}

function at(clock: Clock, time: number, act: () => void): void {
  const left = Math.max(0, time - clock.now())
  clock.after(Math.min(left, LONGEST), () => (left > LONGEST ? at(clock, time, act) : act()))
}

/** The headers of a message whose time has come. @param from the subject at which it waited */
export function deliveredHeaders(given: MsgHdrs | undefined, from: string): MsgHdrs {
  const own = newHeaders()
  for (const [name, values] of given ?? [])
    if (!name.startsWith('Nats-')) for (const value of values) own.append(name, value)
  own.set('Nats-Scheduler', from)
  own.set('Nats-Schedule-Next', 'purge')
  return own
}
