/**
 * Nest as the oracle: the same controllers run by a Nest microservice, by Nest with our transport, and by this library with
 * Nest's decorators and with its own. Nest's client and ours call them. Compared are the packets, the values, the error,
 * the completion, and the parts that have run, in their order.
 */

import { MicroserviceServer } from '@elysia-microservices/nestjs'
import { FakeRedisServer, redisBy } from '@elysia-microservices/redis/testing'
import {
  type RunningServer,
  startInNest,
  startNest,
  startOurs,
  startOursInNest
} from '../../conformance/harness/servers.ts'
import { request, WirePeer } from '../../conformance/harness/wire.ts'
import { steps } from '../../conformance/pipeline/parts.ts'
import type { Random } from '../../lives/random.ts'
import type { Oracle } from '../oracle.ts'
import { type Controlled, type Controller, type Method, newCase, type Parts } from './case.ts'
import { classesOf, globalsOf } from './classes.ts'
import { type Caller, overTransport, TCP_CLIENTS } from './clients.ts'

interface Running {
  /** The port of Nest's wire, if there is one. */
  readonly port?: number
  readonly clients: Readonly<Record<string, () => Caller>>
  stop(): Promise<unknown>
}

const overTcp = async (starting: Promise<RunningServer>): Promise<Running> => {
  const server = await starting
  const clients = Object.entries(TCP_CLIENTS).map(([name, connect]) => [name, () => connect(server.port)])
  return { port: server.port, clients: Object.fromEntries(clients), stop: () => server.stop() }
}

const SERVERS: Readonly<Record<string, (given: Controlled) => Promise<Running>>> = {
  'in Nest': (given) => overTcp(startOursInNest(classesOf(given, 'nest'), {}, globalsOf(given.globals))),
  "here with Nest's decorators": (given) =>
    overTcp(startOurs(classesOf(given, 'nest'), {}, globalsOf(given.globals))),
  'here with our decorators': (given) =>
    overTcp(startOurs(classesOf(given, 'own'), {}, globalsOf(given.globals))),
  'in Nest over Redis': async (given) => {
    const server = new FakeRedisServer()
    const newTransport = () => redisBy(server.driver, { url: `redis://127.0.0.1:${server.port}` })
    const strategy = new MicroserviceServer({ name: 'random', transport: newTransport(), drain: 100 })
    const running = await startInNest({ strategy }, classesOf(given, 'nest'), globalsOf(given.globals))
    const stop = async () => {
      await running.stop()
      server.stop()
    }
    return { clients: { 'our client in Nest': () => overTransport(newTransport()) }, stop }
  }
}

export const NEST: Oracle<Controlled> = {
  name: 'nest',
  imagine: (random: Random) => newCase(random),
  async judge(imagined) {
    const given = withoutStrays(imagined)
    const nest = await overTcp(startNest(classesOf(given, 'nest'), {}, globalsOf(given.globals)))
    const wrong: string[] = []
    const compare = (what: string, expected: readonly string[], got: readonly string[]) => {
      for (const [index, there] of expected.entries())
        if (there !== got[index])
          wrong.push(`${what}: ${callOf(given, index)}\n      Nest ${there}\n      here ${got[index]}`)
    }
    try {
      const packets = await packetsOf(nest.port as number, given)
      const [peer, ...ours] = Object.entries(nest.clients)
      const results = await resultsOf((peer as (typeof ours)[number])[1](), given)
      for (const [client, connect] of ours)
        compare(`${client}, Nest`, results, await resultsOf(connect(), given))
      for (const [name, start] of Object.entries(SERVERS)) {
        const server = await start(given)
        const asNests = name.startsWith('in Nest') ? asIs : asNest
        // Our own protocol has a value for an Observable's `undefined` (docs/protocol.md, "Where we differ on purpose").
        const valued = server.port === undefined ? withoutNothing : asIs
        try {
          if (server.port !== undefined)
            compare(name, packets, (await packetsOf(server.port, given)).map(asNests))
          for (const [client, connect] of Object.entries(server.clients))
            compare(
              `${client}, ${name}`,
              results.map(valued),
              (await resultsOf(connect(), given)).map(asNests).map(valued)
            )
        } finally {
          await server.stop()
        }
      }
    } finally {
      await nest.stop()
    }
    return wrong
  },
  program: ({ globals, controllers, calls }) =>
    [
      `// for all: ${partsText(globals)}`,
      ...controllers.map(controllerText),
      ...calls.map(
        ({ method, data }) => `// ${methodsIn({ controllers })[method]?.name} with ${JSON.stringify(data)}`
      )
    ].join('\n')
}

const asIs = (text: string) => text
const withoutNothing = (text: string) => text.replace(/^\[\[null\],/, '[[],')

/** A smaller case may have calls of methods that it does not have, and Nest answers none of them. */
const withoutStrays = (given: Controlled): Controlled => ({
  ...given,
  calls: given.calls.filter(({ method }) => method < methodsIn(given).length)
})

const methodsIn = ({ controllers }: Pick<Controlled, 'controllers'>) =>
  controllers.flatMap(({ methods }) => methods)

const callOf = ({ controllers, calls }: Controlled, index: number) => {
  const call = calls[index]
  return `${methodsIn({ controllers })[call?.method ?? -1]?.name} with ${JSON.stringify(call?.data)}`
}

/** The packets for each call, and the parts that have run. */
async function packetsOf(port: number, given: Controlled): Promise<string[]> {
  const all: string[] = []
  for (const { method, data } of given.calls) {
    steps.length = 0
    const peer = await WirePeer.connect(port)
    await peer.send(request(methodsIn(given)[method]?.name, data))
    const hasEnded = () => peer.frames.some((text) => text.includes('"isDisposed":true'))
    for (let frames = 1; !hasEnded() && !peer.closed; frames++) await peer.received(frames)
    peer.close()
    all.push(JSON.stringify([peer.frames.map((frame) => frame.slice(0, 300)), steps]))
  }
  return all
}

/** The values, the error and the completion of each call. */
async function resultsOf(client: Caller, given: Controlled): Promise<string[]> {
  try {
    const all: string[] = []
    for (const { method, data } of given.calls) {
      // Nest's client sends no call without data.
      all.push(data === null ? '' : await client.call(methodsIn(given)[method]?.name ?? '', data))
    }
    return all
  } finally {
    await client.close()
  }
}

/**
 * Our packets as those of Nest, where two things differ: an HttpException is an internal error, and the refusal of a guard
 * has no code (docs/protocol.md, "Where we differ on purpose").
 */
function asNest(text: string): string {
  // The text of a packet is inside of another text.
  const quote = text.includes('\\"') ? '\\\\"' : '"'
  const quoted = (pattern: string) => new RegExp(pattern.replaceAll('"', quote), 'g')
  const internal = '{"status":"error","message":"Internal server error"}'.replaceAll('"', quote.slice(-2))
  return text
    .replace(quoted('{"status":"error","code":"[A-Z_]+","message":"[^"]*","statusCode":4[0-9]{2}}'), internal)
    .replace(quoted('"code":"FORBIDDEN",'), '')
}

function partsText({ guards, pipes, interceptors, filters }: Parts): string {
  const all = Object.entries({ guards, pipes, interceptors, filters }).filter(([, names]) => names.length > 0)
  return all.map(([kind, names]) => `@${kind}(${names.join(', ')})`).join(' ')
}

function controllerText({ parts, methods }: Controller): string {
  const text = ({ name, parts: own, parameters, isInherited }: Method) =>
    `  ${partsText(own)} @MessagePattern('${name}') ${name}(${parameters.join(', ')})${isInherited ? ' // inherited' : ''}`
  return [`${partsText(parts)} class {`, ...methods.map(text), '}'].join('\n')
}
