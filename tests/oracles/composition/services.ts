/** Trees as services of ours, and what their callers see. */
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { microservice, type Middleware, type ReceivedMessage } from 'elysia-microservices'
import { build, type Chain, type Dialect, newSite, type Site, type World } from './build.ts'
import type { Input, Steps } from './tree.ts'
import { type Way, newEnds } from './ways.ts'

interface Service extends Chain {
  message(name: string, handler: unknown, options: object): Service
  wrap(middleware: Middleware<ReceivedMessage>): Service
  error(options: object, classes: object): Service
  listen(): Promise<unknown>
  stop(): Promise<void>
}

export const OURS: Dialect = {
  newChain: () => microservice() as unknown as Chain,
  addHandler: (chain, name, handler, options, isWrapped, { world, id }) =>
    (isWrapped
      ? (chain as Service).wrap((next) => (message) => {
          world.log.push(`${id} wrap`)
          return next(message)
        })
      : (chain as Service)
    ).message(name, handler, options),
  addClass: (chain, as, classes) => (chain as Service).error({ as }, classes),
  prefix: (prefix) => prefix,
  part: (part) => part,
  data: ({ data }) => data
}

/** What a caller sees of one message, and what has run for it. */
export interface Outcome {
  readonly answer: unknown
  readonly ran: readonly string[]
}

/** The outcomes of each handler, by its place. */
export type Outcomes = Readonly<Record<string, readonly Outcome[]>>

const logger = { error() {}, warn() {} }

/** Turns of the event loop after which hooks that run after the answer have run. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** Asks each handler of a tree with each input. @param chain is used by a service that carries the messages */
export async function ask(
  make: (root: Site) => Chain,
  inputs: readonly Input[],
  way: Way = 'memory'
): Promise<Outcomes> {
  const ends = await newEnds(way)
  const service = microservice({ name: 'root', transport: ends.service, logger }) as unknown as Service
  const site = newSite(OURS, 'part')
  service.use(make(site))
  await service.listen()
  const client: UntypedClient = connect(ends.client() as never)
  try {
    return await outcomes(site.world, inputs, (pattern, { data, headers }) =>
      client.request(pattern, data, { headers: headers as Record<string, string> }).then(
        (value) => ({ value }),
        ({ code, message, details }) => ({ code, message, details })
      )
    )
  } finally {
    await client.close()
    await service.stop()
    await ends.close()
  }
}

/** Calls each handler with each input. */
export async function outcomes(
  world: World,
  inputs: readonly Input[],
  call: (pattern: string, input: Input, id: string) => Promise<unknown>
): Promise<Outcomes> {
  const all: Record<string, Outcome[]> = {}
  for (const { id, pattern } of world.handlers) {
    const own: Outcome[] = []
    all[id] = own
    for (const input of inputs) {
      world.log.length = 0
      world.input = input
      const answer = await call(pattern, input, id)
      await settled()
      own.push({ answer, ran: [...world.log] })
    }
  }
  return all
}

/** The tree by itself. */
export const alone =
  (steps: Steps) =>
  (site: Site): Chain =>
    build(site.dialect.newChain(), steps, site)
