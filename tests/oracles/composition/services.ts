/** Trees as our services, and the answers that their callers get. */

import { type Middleware, microservice, type ReceivedMessage } from 'elysia-microservices'
import { connect, type UntypedClient } from 'elysia-microservices/client'
import { build, type Chain, type Dialect, newSite, type Site, type World } from './build.ts'
import { byClient, byGateway, type Call } from './callers.ts'
import { demands, shared } from './schemas.ts'
import type { Input, Steps } from './tree.ts'
import { isGateway, newEnds, type Way } from './ways.ts'

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
  schema: demands,
  prefix: (prefix) => prefix,
  part: (part) => part,
  data: ({ data }) => data
}

/** The answer to one message, and the hooks and handlers that have run for it. */
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

/** Asks each handler of a tree with each input. @param by how a client asks */
export async function ask(
  make: (root: Site) => Chain,
  inputs: readonly Input[],
  way: Way = 'memory',
  dialect = OURS,
  by = byClient
): Promise<Outcomes> {
  const ends = await newEnds(way)
  const service = microservice({ name: 'root', transport: ends.service, logger }) as unknown as Service
  // The places of one program share their schemas.
  const site = newSite({ ...dialect, schema: shared(dialect.schema) }, 'part')
  service.use(make(site))
  await service.listen()
  const client: UntypedClient = connect(ends.client() as never)
  try {
    const call = isGateway(way) ? byGateway(client, site.world, way === 'gateway') : by(client)
    return await outcomes(site.world, inputs, call)
  } finally {
    await client.close()
    await service.stop()
    await ends.close()
  }
}

/** Calls each handler with each input. */
export async function outcomes(world: World, inputs: readonly Input[], call: Call): Promise<Outcomes> {
  const all: Record<string, Outcome[]> = {}
  for (const { id, pattern } of world.handlers) {
    const own: Outcome[] = []
    all[id] = own
    for (const input of inputs) {
      world.log.length = 0
      world.input = input
      const answer = await call(pattern, input)
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
