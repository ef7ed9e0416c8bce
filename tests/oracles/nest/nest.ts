/**
 * Nest as the oracle: the same controllers run by a Nest microservice, by Nest with our transport, and by this library with
 * Nest's decorators and with its own. Nest's client and ours call them. Compared are the packets, the values, the error,
 * the completion, and the parts that have run, in their order.
 */

import {
  type RunningServer,
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
import { CLIENTS } from './clients.ts'

const SERVERS = {
  'in Nest': (given: Controlled) => startOursInNest(classesOf(given, 'nest'), {}, globalsOf(given.globals)),
  "here with Nest's decorators": (given: Controlled) =>
    startOurs(classesOf(given, 'nest'), {}, globalsOf(given.globals)),
  'here with our decorators': (given: Controlled) =>
    startOurs(classesOf(given, 'own'), {}, globalsOf(given.globals))
}

export const NEST: Oracle<Controlled> = {
  name: 'nest',
  imagine: (random: Random) => newCase(random),
  async judge(given) {
    const nest = await startNest(classesOf(given, 'nest'), {}, globalsOf(given.globals))
    const wrong: string[] = []
    try {
      const expected = await played(nest, given)
      wrong.push(...(await calledBy(given, nest, 'Nest', expected.calls)))
      for (const [name, start] of Object.entries(SERVERS)) {
        const server = await start(given)
        try {
          const got = await played(server, given)
          for (const [index, packets] of expected.packets.entries()) {
            const there = name === 'in Nest' ? got.packets[index] : asNest(got.packets[index] as string)
            if (packets !== there)
              wrong.push(`${name}: ${callOf(given, index)}\n      Nest ${packets}\n      here ${there}`)
          }
          wrong.push(...(await calledBy(given, server, name, expected.calls)))
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

const methodsIn = ({ controllers }: Pick<Controlled, 'controllers'>) =>
  controllers.flatMap(({ methods }) => methods)

const callOf = ({ controllers, calls }: Controlled, index: number) => {
  const call = calls[index]
  return `${methodsIn({ controllers })[call?.method ?? -1]?.name} with ${JSON.stringify(call?.data)}`
}

/** The packets for each call, and the parts that have run. */
async function played({ port }: RunningServer, given: Controlled) {
  const packets: string[] = []
  const calls: { readonly pattern: string; readonly data: unknown; readonly ran: string }[] = []
  for (const { method, data } of given.calls) {
    const pattern = methodsIn(given)[method]?.name
    if (pattern === undefined) continue
    steps.length = 0
    const peer = await WirePeer.connect(port)
    await peer.send(request(pattern, data))
    const hasEnded = () => peer.frames.some((text) => text.includes('"isDisposed":true'))
    for (let frames = 1; !hasEnded() && !peer.closed; frames++) await peer.received(frames)
    peer.close()
    packets.push(JSON.stringify([peer.frames.map((frame) => frame.slice(0, 300)), steps]))
    calls.push({ pattern, data, ran: JSON.stringify(steps) })
  }
  return { packets, calls }
}

/** Compares what each client of a server gets with that of the first of them, which is Nest's own. */
async function calledBy(
  given: Controlled,
  { port }: RunningServer,
  name: string,
  calls: readonly { readonly pattern: string; readonly data: unknown }[]
): Promise<string[]> {
  const wrong: string[] = []
  const open = Object.entries(CLIENTS).map(([of, connect]) => ({ of, client: connect(port) }))
  try {
    for (const [index, { pattern, data }] of calls.entries()) {
      // Nest's client sends no call without data.
      if (data === null) continue
      const [first, ...others] = await Promise.all(open.map(({ client }) => client.call(pattern, data)))
      for (const [at, other] of others.entries())
        if (other !== first)
          wrong.push(
            `${open[at + 1]?.of}, ${name}: ${callOf(given, index)}\n      Nest's client ${first}\n      ours ${other}`
          )
    }
  } finally {
    for (const { client } of open) await client.close()
  }
  return wrong
}

/**
 * Our packets as those of Nest, where two things differ: an HttpException is an internal error, and the refusal of a guard
 * has no code (docs/protocol.md, "Where we differ on purpose").
 */
function asNest(packets: string): string {
  return packets
    .replaceAll(
      /\\"err\\":\{\\"status\\":\\"error\\",\\"code\\":\\"[A-Z_]+\\",\\"message\\":\\"[^"]*\\",\\"statusCode\\":4\d\d\}/g,
      '\\"err\\":{\\"status\\":\\"error\\",\\"message\\":\\"Internal server error\\"}'
    )
    .replaceAll(
      '\\"code\\":\\"FORBIDDEN\\",\\"message\\":\\"Forbidden resource',
      '\\"message\\":\\"Forbidden resource'
    )
    .replaceAll(/"(\d+)#/g, '"#')
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
