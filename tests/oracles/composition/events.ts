/**
 * A rule without a peer: in every composition each handler of an event runs as often as in its service alone, whatever
 * becomes of the other handlers; or the composition is refused at the start, because two durable handlers would share one
 * outcome.
 */

import { ManualClock, memory, OptionError } from '@elysia-microservices/transport'
import { microservice } from 'elysia-microservices'
import { connect } from 'elysia-microservices/client'
import type { Random } from '../../lives/random.ts'
import type { Oracle } from '../oracle.ts'

interface Handler {
  readonly event: string
  /** The group of a durable handler; 0: that of the service; undefined: the handler is not durable. */
  readonly group?: number
  readonly fails: boolean
}

/** A service, which others may use in any way, and also several times. */
interface Part {
  readonly handlers: readonly Handler[]
  /** The numbers of the parts before it that it uses. */
  readonly uses: readonly number[]
  readonly around: 'nothing' | 'guard' | 'plugin'
}

interface Service {
  event(name: string, handler: () => void, options: object): Service
  use(other: Service | ((service: Service) => Service)): Service
  guard(options: object, define: (group: Service) => Service): Service
  listen(): Promise<unknown>
  stop(): Promise<void>
}

const EVENTS = ['paid', 'sent']
const RETRY = { attempts: 3, minDelay: 10 }
const logger = { error() {}, warn() {} }

export const EVENTS_HANDLED: Oracle<readonly Part[]> = {
  name: 'events',
  imagine: (random: Random) =>
    Array.from({ length: random.between(2, 5) }, (_, number) => ({
      handlers: Array.from({ length: random.between(0, 2) }, () => newHandler(random)),
      uses: Array.from({ length: number === 0 ? 0 : random.between(1, 3) }, () =>
        random.between(0, number - 1)
      ),
      around: random.of(['nothing', 'guard', 'plugin'] as const)
    })),
  async judge(parts) {
    const together = await runsOf(parts, parts.length - 1)
    // A service that does not start loses nothing.
    if (together === undefined) return []
    const wrong: string[] = []
    for (const [number, part] of parts.entries()) {
      if (!isUsed(parts, number)) continue
      const alone = await runsOf([{ ...part, uses: [] }], 0)
      for (const [index, expected] of (alone ?? []).entries()) {
        const got = together[placesOf(parts).indexOf(`${number}.${index}`)]
        if (got !== expected)
          wrong.push(`a handler runs ${expected} times alone and ${got} times composed: ${number}.${index}`)
      }
    }
    return wrong
  },
  program: (parts) =>
    parts
      .map(
        ({ handlers, uses, around }, number) =>
          `const s${number} = microservice()${uses
            .filter((used) => used < number)
            .map((used) => (around === 'guard' ? `.guard({}, (g) => g.use(s${used}))` : `.use(s${used})`))
            .join('')}${handlers
            .map(
              ({ event, group, fails }) =>
                `.event('${event}', ${fails ? 'fail' : 'fine'}, ${optionsText(group)})`
            )
            .join('')}`
      )
      .join('\n')
}

const optionsText = (group: number | undefined) =>
  group === undefined ? '{}' : JSON.stringify({ durable: durable(group) })
const durable = (group: number) => ({ retry: RETRY, ...(group > 0 && { group: `g${group}` }) })

function newHandler(random: Random): Handler {
  const handler = { event: random.of(EVENTS), fails: random.chance(0.4) }
  return random.chance(0.6) ? { ...handler, group: random.between(0, 4) } : handler
}

/** The places of all handlers, in the order of their counts. */
function placesOf(parts: readonly Part[]): string[] {
  return parts.flatMap(({ handlers }, number) => handlers.map((_, index) => `${number}.${index}`))
}

/** Whether the last part uses another one, at any depth. */
function isUsed(parts: readonly Part[], number: number, by = parts.length - 1): boolean {
  if (by === number) return true
  return (parts[by] as Part).uses.some((used) => used < by && isUsed(parts, number, used))
}

/** How often each handler has run for two events of each name. @returns undefined if the service is refused */
async function runsOf(parts: readonly Part[], root: number): Promise<number[] | undefined> {
  const clock = new ManualClock(0)
  const transport = memory({ clock })
  const counts = placesOf(parts).map(() => 0)
  let place = 0
  const made: Service[] = []
  for (const [number, { handlers, uses, around }] of parts.entries()) {
    const options = number === root ? { name: 'shop', transport, logger } : {}
    let service = microservice(options as never) as unknown as Service
    for (const used of uses) {
      const other = made[used]
      if (other === undefined) continue
      if (around === 'nothing') service = service.use(other)
      else if (around === 'plugin') service = service.use((given) => given.use(other))
      else service = service.guard({}, (group) => group.use(other))
    }
    for (const { event, group, fails } of handlers) {
      const own = place++
      const handler = () => {
        counts[own] = (counts[own] as number) + 1
        if (fails) throw new Error('it fails')
      }
      service = service.event(event, handler, group === undefined ? {} : { durable: durable(group) })
    }
    made.push(service)
  }
  const service = made[root] as Service
  try {
    await service.listen()
  } catch (error) {
    await service.stop()
    if (error instanceof OptionError && error.message.includes('has two handlers in the group'))
      return undefined
    throw error
  }
  const client = connect({ transport, logger })
  for (const event of EVENTS) {
    await client.emit(event, 1)
    await client.publish(event, 1).catch(() => {})
  }
  await clock.advance(100_000)
  await client.close()
  await service.stop()
  return counts
}
